import { describe, expect, it } from 'vitest';
import { BoundedText } from '../../src/common/boundedText';
import { childEnvironment } from '../../src/common/environment';
import { plainNotice } from '../../src/common/notice';
import { PlainText, forTerminal } from '../../src/common/plainText';

describe('the bounded record of output', () => {
  const recorded = (limit: number, ...pieces: string[]) => {
    const record = new BoundedText(limit);
    for (const piece of pieces) record.add(piece);
    return record.toString();
  };

  it('keeps a short text as it is', () => {
    expect(recorded(1000, 'one\n', 'two\n')).toBe('one\ntwo\n');
  });

  it('keeps a text of exactly the limit', () => {
    expect(recorded(300, 'x'.repeat(100), 'y'.repeat(200))).toBe('x'.repeat(100) + 'y'.repeat(200));
  });

  it('keeps the head and the end of ten megabytes, and says how much is missing', () => {
    const line = `${'x'.repeat(99)}\n`;
    const record = new BoundedText(16 * 1024);
    record.add('the first line\n');
    for (let n = 0; n < 100_000; n += 1) record.add(line);
    record.add('the last line\n');
    const text = record.toString();
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16 * 1024);
    expect(text.startsWith('the first line\n')).toBe(true);
    expect(text.endsWith('the last line\n')).toBe(true);
    const omitted = Number(/… (\d+) bytes omitted …/.exec(text)?.[1]);
    const kept = Buffer.byteLength(text.replace(/\n… \d+ bytes omitted …\n/, ''));
    expect(omitted + kept).toBe(15 + 100_000 * 100 + 14);
  });

  it.each([509, 510, 511, 512])('never tears a character at a limit of %i', (limit) => {
    const text = recorded(limit, '😀'.repeat(1000));
    expect(text).not.toContain('\ufffd');
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limit);
  });

  it.each([1, 7, 64, 1000])('gives the same for pieces of %i characters', (size) => {
    const whole = Array.from({ length: 5000 }, (_, n) => String(n)).join(' ');
    const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, n) =>
      whole.slice(n * size, (n + 1) * size),
    );
    expect(recorded(2048, ...pieces)).toBe(recorded(2048, whole));
  });
});

describe('plain text', () => {
  const cleaned = (...pieces: string[]) => {
    const plain = new PlainText();
    return pieces.map((piece) => plain.add(piece)).join('') + plain.finish();
  };

  it('leaves colours, titles and links out', () => {
    expect(cleaned('\u001b[31mred\u001b[0m \u001b]0;title\u0007\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\')).toBe(
      'red link',
    );
  });

  it('leaves a sequence out that comes in pieces', () => {
    expect(cleaned('a\u001b', '[3', '1mb', '\u001b]0;ti', 'tle\u0007c')).toBe('abc');
  });

  it('holds nothing back for ever', () => {
    expect(cleaned('a\u001b[3')).not.toContain('\u001b');
    const long = cleaned(`\u001b]0;${'x'.repeat(100_000)}`, 'end');
    expect(long).toContain('end');
    expect(long).not.toContain('\u001b');
  });

  it('keeps tabs, line ends and returns, and no other control character', () => {
    expect(cleaned('a\tb\r\nc\rd\u0000\u0008\u009b31m')).toMatch(/^a\tb\r\nc\rd/);
    // eslint-disable-next-line no-control-regex -- that is the point
    expect(cleaned('\u0000\u0008\u009b\u007f')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });

  it('gives a terminal the returns that it needs, once', () => {
    expect(forTerminal('a\nb\r\nc')).toBe('a\r\nb\r\nc');
  });
});

describe('a notice', () => {
  it('has no link in it, whatever a model wrote', () => {
    expect(plainNotice('[click](command:steersman.key.forget)')).not.toMatch(/\]\(/);
  });
});

describe('the environment of children', () => {
  const own = {
    PATH: '/usr/bin',
    HOME: '/home',
    OPENAI_API_KEY: 'sk-0123456789',
    COPY: 'Bearer sk-0123456789',
    GITHUB_TOKEN: 'x',
    AWS_SECRET_ACCESS_KEY: 'x',
    ELECTRON_RUN_AS_NODE: '1',
    VSCODE_PID: '1',
    PYTHONPATH: '/somewhere',
    LANG: 'C.UTF-8',
  };

  it('has no secrets, and no copy of the key under another name', () => {
    const env = childEnvironment(own, undefined);
    expect(JSON.stringify(env)).not.toContain('sk-0123456789');
    expect(env).not.toHaveProperty('GITHUB_TOKEN');
    expect(env).not.toHaveProperty('AWS_SECRET_ACCESS_KEY');
  });

  it("has none of the editor's own traces, and keeps what a shell would give", () => {
    const env = childEnvironment(own, undefined);
    for (const name of ['ELECTRON_RUN_AS_NODE', 'VSCODE_PID', 'PYTHONPATH']) expect(env).not.toHaveProperty(name);
    expect(env).toMatchObject({ HOME: '/home', LANG: 'C.UTF-8', NO_COLOR: '1', PATH: '/usr/bin' });
  });

  it("puts the virtual environment's programs first", () => {
    expect(childEnvironment(own, '/venv')).toMatchObject({ VIRTUAL_ENV: '/venv', PATH: '/venv/bin:/usr/bin' });
  });
});
