import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/common/childProcess';
import type { TestCase, TestsRequest } from '../../src/lsp/protocol';
import { readCases } from '../../src/tests/junit';
import { receiptOf, refused } from '../../src/tests/receipt';
import { suggestedCommand } from '../../src/tests/suites';
import { countsIn } from '../../src/tests/summaries';
import { isPytest, resolved, selected, withResults } from '../../src/tests/testCommand';
import { symlinkSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { folderWith } from './tools';

const request: TestsRequest = {
  runId: 'r1',
  sessionId: 's1',
  turn: 1,
  folder: 'file:///work',
  timeoutSeconds: 10,
  reason: 'tool',
};
const PYTEST = ['python', '-m', 'pytest'];
const ended = (more: Partial<Outcome>): Outcome => ({
  ended: 'exited',
  exitCode: 0,
  output: '',
  durationMs: 5,
  ...more,
});
const cases = (...outcomes: TestCase['outcome'][]): TestCase[] =>
  outcomes.map((outcome, n) => ({ id: `t${n}`, outcome }));

describe('the judgement of a test run', () => {
  const status = (outcome: Partial<Outcome>, found?: TestCase[], argv = PYTEST) =>
    receiptOf(request, ended(outcome), argv, found).status;

  it.each([
    ['passes with exit code 0 and tests', { exitCode: 0 }, cases('passed'), 'passed'],
    ['is never a pass without a test', { exitCode: 0 }, [], 'noTests'],
    ['is never a pass without any result', { exitCode: 0, output: 'fine!' }, undefined, 'noTests'],
    ['believes the exit code and not the results', { exitCode: 1 }, cases('passed'), 'failed'],
    ['knows that pytest found nothing', { exitCode: 5 }, [], 'noTests'],
    ['knows that pytest broke off', { exitCode: 2 }, cases('error'), 'error'],
    ['tells a time limit', { ended: 'timeout', exitCode: null }, cases('passed'), 'timeout'],
    ['tells a stop', { ended: 'cancelled', exitCode: null }, cases('passed'), 'cancelled'],
    ['tells a crash', { ended: 'signalled', exitCode: null }, undefined, 'error'],
    ['tells a missing program', { ended: 'not-found', exitCode: null }, undefined, 'error'],
    [
      'tells a missing module',
      { exitCode: 1, output: '/usr/bin/python3: No module named pytest\n' },
      undefined,
      'error',
    ],
    ['tells that a launcher found no program', { exitCode: 127 }, undefined, 'error'],
  ] as [string, Partial<Outcome>, TestCase[] | undefined, string][])('%s', (_what, outcome, found, wanted) => {
    expect(status(outcome, found)).toBe(wanted);
  });

  it('does not take a failing test that misses a module for a missing runner', () => {
    const output = "E   ModuleNotFoundError: No module named 'numpy'\n1 failed in 0.1s";
    expect(status({ exitCode: 1, output }, cases('failed'))).toBe('failed');
  });

  it('counts, lists at most 200 tests, and names the editor as the runner', () => {
    const many = cases('error', 'failed', 'skipped', ...Array<'passed'>(300).fill('passed'));
    const receipt = receiptOf(request, ended({ exitCode: 1 }), PYTEST, many);
    expect(receipt.counts).toEqual({ collected: 303, passed: 300, failed: 1, errors: 1, skipped: 1 });
    expect(receipt.tests).toHaveLength(200);
    expect(receipt).toMatchObject({ runner: 'editor', folder: 'file:///work', argv: PYTEST, runId: 'r1' });
  });

  it('says why a run was refused', () => {
    expect(refused(request, 'Because.')).toMatchObject({ status: 'error', exitCode: null, output: 'Because.' });
  });
});

describe('a test command', () => {
  it('knows pytest when it sees it', () => {
    for (const argv of [['pytest'], PYTEST, ['uv', 'run', 'pytest'], ['/venv/bin/pytest', '-q']])
      expect(isPytest(argv)).toBe(true);
    for (const argv of [
      ['npm', 'test'],
      ['python', 'pytest'],
      ['cat', 'pytest'],
    ])
      expect(isPytest(argv)).toBe(false);
  });

  it("is run by the folder's interpreter, unless a program is named by its path", () => {
    expect(resolved(['python', '-m', 'pytest'], '/v/python')).toEqual(['/v/python', '-m', 'pytest']);
    expect(resolved(['pytest', '-q'], '/v/python')).toEqual(['/v/python', '-m', 'pytest', '-q']);
    expect(resolved(['/usr/bin/python3', 'x'], '/v/python')).toEqual(['/usr/bin/python3', 'x']);
    expect(resolved(['npm', 'test'], '/v/python')).toEqual(['npm', 'test']);
    expect(resolved(PYTEST, undefined)).toEqual(PYTEST);
  });

  it('chooses tests by name or by id, and no name becomes an option', () => {
    expect(selected(PYTEST, { files: [], tests: ['test_a', 'test_b'] })).toEqual([...PYTEST, '-k', 'test_a or test_b']);
    expect(selected(PYTEST, { files: ['-x', '@f'], tests: ['a.py::t'] })).toEqual([
      ...PYTEST,
      './-x',
      './@f',
      'a.py::t',
    ]);
    expect(selected(['npm', 'test'], { files: ['a.js'], tests: [] })).toEqual(['npm', 'test', '--', 'a.js']);
    expect(selected(PYTEST, undefined)).toEqual(PYTEST);
  });

  it('writes its results before a separator that is already there', () => {
    const argv = withResults([...PYTEST, '--', 'a.py'], '/r.xml', '/c');
    expect(argv.indexOf('--junitxml=/r.xml')).toBeLessThan(argv.indexOf('--'));
    expect(argv.slice(-2)).toEqual(['--', 'a.py']);
  });
});

describe('the command that a folder suggests', () => {
  it.each([
    ['conftest.py', ''],
    ['pyproject.toml', '[project]\n[tool.pytest.ini_options]\n'],
    ['setup.cfg', '[tool:pytest]\n'],
    ['tests/test_a.py', ''],
  ])('is pytest for %s', async (name, text) => {
    expect(await suggestedCommand(folderWith({ [name]: text }))).toEqual(PYTEST);
  });

  it('is npm where the package has a real test script', async () => {
    expect(await suggestedCommand(folderWith({ 'package.json': '{"scripts":{"test":"vitest run"}}' }))).toEqual([
      'npm',
      'test',
    ]);
  });

  it.each([
    '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}',
    'nonsense',
    'null',
    '[]',
    '{"scripts":{"test":7}}',
  ])('is none for a package with %s', async (text) => {
    expect(await suggestedCommand(folderWith({ 'package.json': text }))).toBeUndefined();
  });

  it('is none for an empty folder, and for one that is not there', async () => {
    expect(await suggestedCommand(folderWith())).toBeUndefined();
    expect(await suggestedCommand('/no/such/folder')).toBeUndefined();
  });
});

describe('counts in the output', () => {
  it.each([
    ['==== 1 failed, 2 passed, 1 xfailed in 0.12s ====', [4, 2, 1, 0, 1]],
    ['Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)', [5, 2, 1, 1, 1]],
    ['Ran 3 tests in 0.001s\n\nOK', [3, 3, 0, 0, 0]],
    ['Tests:       1 failed, 4 passed, 5 total', [5, 4, 1, 0, 0]],
    ['  3 passing (10ms)\n  1 failing', [4, 3, 1, 0, 0]],
    ['# pass 2\r\n# fail 1\r\n# skipped 0', [3, 2, 1, 0, 0]],
    ['test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured', [3, 2, 0, 0, 1]],
    ['--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)', [2, 1, 1, 0, 0]],
  ] as [string, number[]][])('are read from %j', (output, [collected, passed, failed, errors, skipped]) => {
    expect(countsIn(output)).toEqual({ collected, passed, failed, errors, skipped });
  });

  it('are not guessed', () => {
    expect(countsIn('all good, 3 passed the post')).toBeUndefined();
    expect(countsIn('')).toBeUndefined();
  });
});

describe('a results file', () => {
  const read = (text: string, partial = false, files: Record<string, string> = {}) => {
    const folder = folderWith({ 'results.xml': text, ...files });
    return readCases(path.join(folder, 'results.xml'), folder, partial);
  };
  const suite = (inner: string, tests = 1) =>
    `<?xml version="1.0"?><testsuites><testsuite tests="${tests}">${inner}</testsuite></testsuites>`;

  it('tells ids as the runner does, places, times and messages, the worst first', async () => {
    const xml = suite(
      `<testcase classname="tests.test_a.TestX" name="test_ok" file="tests/test_a.py" line="4" time="0.0123"/>
       <testcase classname="tests.test_a" name="test_bad[a::b]" file="tests/test_a.py" line="9"><failure message="assert 1 &lt; 0&#10;more">trace</failure></testcase>
       <testcase classname="other" name="test_skip"><skipped message="not today"/></testcase>`,
    );
    const found = await read(xml, false, { 'tests/test_a.py': '' });
    expect(found).toEqual([
      {
        id: 'tests/test_a.py::test_bad[a::b]',
        outcome: 'failed',
        message: 'assert 1 < 0\nmore',
        line: 10,
        uri: expect.stringMatching(/^file:.*test_a\.py$/) as string,
      },
      { id: 'other::test_skip', outcome: 'skipped', message: 'not today' },
      {
        id: 'tests/test_a.py::TestX::test_ok',
        outcome: 'passed',
        durationMs: 12,
        line: 5,
        uri: expect.stringMatching(/^file:/) as string,
      },
    ]);
  });

  it('tells a test once whose teardown failed too', async () => {
    const found = await read(suite('<testcase name="t"/><testcase name="t"><error>boom</error></testcase>'));
    expect(found).toEqual([{ id: 't', outcome: 'error', message: 'boom' }]);
  });

  it('leaves the tests out that were running when it was interrupted', async () => {
    const xml = suite('<testcase name="a"/><testcase name="b"/><testcase name="c"><failure/></testcase>', 2);
    expect((await read(xml, true))?.map(({ id }) => id)).toEqual(['c', 'a']);
    expect(await read(xml)).toHaveLength(3);
  });

  it('takes one suite without the outer element', async () => {
    expect(await read('<testsuite tests="1"><testcase name="a"/></testsuite>')).toEqual([
      { id: 'a', outcome: 'passed' },
    ]);
  });

  it('does not repeat a long message', async () => {
    const [found] =
      (await read(suite(`<testcase name="a"><failure>${'x'.repeat(100_000)}</failure></testcase>`))) ?? [];
    expect(found?.message).toHaveLength(1000);
  });

  it('reads thousands of tests with entities in them', async () => {
    const one =
      '<testcase name="a &lt; b &amp; c &gt; d NUMBER"><failure message="&quot;x&quot; &#10; &lt;"/></testcase>';
    const many = Array.from({ length: 5000 }, (_, n) => one.replace('NUMBER', String(n))).join('');
    const found = await read(suite(many, 5000));
    expect(found).toHaveLength(5000);
    expect(found?.[0]?.id).toBe('a < b & c > d 0');
  });

  it.each([
    ['nothing', ''],
    ['other text', 'no xml'],
    ['another document', '<html><testcase name="a"/></html>'],
    ['half a document', '<testsuites><testsuite tests="1"><testcase name="a"/>'],
    ['a document type', '<!DOCTYPE x [<!ENTITY a "b">]><testsuites/>'],
    ['an unknown entity', suite('<testcase name="&boom;"/>')],
  ])('that holds %s is none', async (_what, text) => {
    expect(await read(text)).toBeUndefined();
  });

  it('that is a link is none, and one that is missing neither', async () => {
    const folder = folderWith();
    writeFileSync(path.join(folder, 'real.xml'), suite('<testcase name="a"/>'));
    symlinkSync(path.join(folder, 'real.xml'), path.join(folder, 'link.xml'));
    expect(await readCases(path.join(folder, 'link.xml'), folder, false)).toBeUndefined();
    expect(await readCases(path.join(folder, 'none.xml'), folder, false)).toBeUndefined();
    expect(await readCases(folder, folder, false)).toBeUndefined();
  });

  it('names no place that does not exist', async () => {
    const found = await read(suite('<testcase name="a" file="gone.py" line="x"/>'));
    expect(found).toEqual([{ id: 'gone.py::a', outcome: 'passed' }]);
  });
});
