// @vitest-environment jsdom
// Markdown of models, files and tools: it may say anything and do nothing.
import { describe, expect, it, vi } from 'vitest';
import { lastParagraph, StreamedMarkdown } from '../../webview/streamedMarkdown';
import { markdown } from '../../webview/markdown';

const opened: string[] = [];
const render = (text: string): HTMLElement => {
  const host = document.createElement('div');
  host.append(markdown(text, (url) => opened.push(url)));
  return host;
};
/** Attributes that are not of the page's own making. */
const foreign = (host: HTMLElement): string[] =>
  [...host.querySelectorAll('*')].flatMap((element) =>
    element.closest('button') ? [] : element.getAttributeNames().map((name) => `${element.tagName} ${name}`),
  );
const OWN = /^(?:SPAN (?:class|tabindex|role)|DIV class|PRE class|OL start)$/;

describe('markdown', () => {
  it('is formatted', () => {
    const host = render(
      '# Title\n\n**bold** `code`\n\n- one\n- two\n\n| a | b |\n|:-:|---|\n| 1 | 2 |\n\n```py\nx = 1\n```',
    );
    expect(host.querySelector('h1')?.textContent).toBe('Title');
    expect(host.querySelectorAll('li')).toHaveLength(2);
    expect(host.querySelectorAll('td')).toHaveLength(2);
    expect(host.querySelector('pre')?.textContent).toBe('x = 1\n');
  });

  it.each([
    ['<script>window.hacked = 1</script>'],
    ['<img src=x onerror="window.hacked = 1">'],
    ['<svg onload="window.hacked = 1"><style>*{display:none}</style></svg>'],
    ['<a href="javascript:window.hacked=1">x</a>'],
    ['<iframe srcdoc="<script>parent.hacked=1</script>"></iframe>'],
    ['[x](javascript:window.hacked=1)'],
    ['[x](JaVaScRiPt&colon;window.hacked=1)'],
    ['[x](data:text/html;base64,PHNjcmlwdD4=)'],
    ['[x](vbscript:x)'],
    ['[run](command:steersman.key.forget)'],
    ['[run](command:workbench.action.terminal.sendSequence?%7B%22text%22%3A%22rm%22%7D)'],
    ['<command:steersman.key.forget>'],
    ['[x](vscode://a/b)'],
    ['[x](file:///etc/passwd)'],
    ['![x](https://example.com/pixel.png)'],
    ['![x](command:x)'],
    ['[x]: command:steersman.key.forget "t"\n\n[x]'],
    ['```"><img src=x onerror=window.hacked=1>\ncode\n```'],
    ['[a](https://example.com "\\" onmouseover=window.hacked=1 \\"")'],
    ['<div style="position:fixed;inset:0">cover</div>'],
    ['<details open ontoggle=window.hacked=1>'],
    ['&lt;script&gt;window.hacked=1&lt;/script&gt;'],
    ['<math><mtext><table><mglyph><style><img src=x onerror=window.hacked=1>'],
  ])('does nothing: %s', (text) => {
    const host = render(text);
    expect(
      host.querySelector('script, img, svg:not(.icon), iframe, style, a, form, input, object, details'),
    ).toBeNull();
    for (const attribute of foreign(host)) expect(attribute).toMatch(OWN);
    expect((globalThis as { hacked?: unknown }).hacked).toBeUndefined();
  });

  it('shows HTML as the words that it is, and a picture as its name', () => {
    expect(render('a <b>c</b>').textContent.trim()).toBe('a <b>c</b>');
    expect(render('![a cat](https://example.com/cat.png)').textContent).toContain('a cat');
  });

  it('keeps where a link leads to itself, and asks the editor to go there', () => {
    const host = render('[the docs](https://example.com/a?b=c)');
    const link = host.querySelector<HTMLElement>('[role=link]');
    expect(link?.textContent).toBe('the docs');
    expect(link?.outerHTML).not.toContain('example.com');
    link?.click();
    expect(opened.splice(0)).toEqual(['https://example.com/a?b=c']);
    link?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
    expect(opened.splice(0)).toEqual(['https://example.com/a?b=c']);
  });

  it('shows the words of a link that leads to no web page, and no link', () => {
    const host = render('[click me](ftp://example.com)');
    expect(host.textContent).toContain('click me');
    expect(host.querySelector('[role=link]')).toBeNull();
  });

  it.each([
    ['deep', `${'>'.repeat(20_000)}x`],
    ['brackets', '['.repeat(29_000)],
    ['stars', '*a '.repeat(9_000)],
    ['backticks', '`a'.repeat(14_000)],
    ['tables', `|a|b|\n|-|-|\n${'|x|y|\n'.repeat(4_000)}`],
  ])('is shown before the person gives up, whatever is in it: %s', (_what, text) => {
    expect(render(text).textContent.length).toBeGreaterThan(0);
  });

  it('that is very long is shown as it is', () => {
    const text = `# no title\n${'x'.repeat(1_000_000)}`;
    expect(render(text).textContent).toBe(text);
    expect(render(text).querySelector('h1')).toBeNull();
  });
});

describe('markdown that grows', () => {
  const grown = (text: string, step: number): HTMLElement => {
    const view = new StreamedMarkdown(() => undefined);
    for (let end = 0; end < text.length; end += step) view.update(text.slice(0, end), false);
    view.update(text, true);
    return view.element;
  };
  const TEXT =
    '# T\n\nOne *two*\nthree.\n\n```py\na = 1\n\nb = 2\n```\n\nAfter.\n\n1. a\n\n2. b\n\n   more\n\n~~~\n```\n~~~\n\n[x][y]\n\n[y]: https://example.com\n';

  it.each([1, 3, 7, 1000])('ends as if it had come at once (%i characters at a time)', (step) => {
    const whole = grown(TEXT, TEXT.length + 1);
    expect(grown(TEXT, step).innerHTML).toBe(whole.innerHTML);
  });

  const paragraphs = (view: StreamedMarkdown) =>
    [...view.element.querySelectorAll('p')].map(({ textContent }) => textContent);

  it('leaves finished paragraphs alone', async () => {
    const view = new StreamedMarkdown(() => undefined);
    view.update('One.\n\nTwo', false);
    const first = view.element.querySelector('p');
    view.update('One.\n\nTwo and three.\n\nFour', false);
    await vi.waitUntil(() => paragraphs(view).length === 3, { timeout: 10_000 });
    expect(view.element.querySelector('p')).toBe(first);
    expect(paragraphs(view)).toEqual(['One.', 'Two and three.', 'Four']);
  });

  it('begins anew where the words are others', async () => {
    const view = new StreamedMarkdown(() => undefined);
    view.update('Wrong.\n\nWrong too', false);
    view.update('Right', false);
    await vi.waitUntil(() => view.element.textContent.trim() === 'Right', { timeout: 10_000 });
  });

  it('that costs much is drawn less often, and its last words come all the same', async () => {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 10));
    const view = new StreamedMarkdown(() => undefined);
    view.update('One', false);
    view.update('One and', false);
    expect(paragraphs(view)).toEqual(['One']);
    await vi.waitUntil(() => paragraphs(view)[0] === 'One and', { timeout: 10_000 });
  });

  it.each([
    ['a\n\nb', 3],
    ['a\nb', 0],
    ['```\n\nb', 0],
    ['```\n\n```\n\nb', 10],
    ['a\n\n- b', 0],
    ['a\n\n1. b', 0],
    ['a\n\n  b', 0],
    ['', 0],
  ])('settles %j up to %i', (text, end) => {
    expect(lastParagraph(text, 0)).toBe(end);
  });
});
