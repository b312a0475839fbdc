// The palette: every command that the package offers exists, and does what it says.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { editorCommands } from '../../src/commands/editorContext';
import { eventCommands } from '../../src/commands/events';
import { goalCommands } from '../../src/commands/goals';
import { serverCommands } from '../../src/commands/server';
import { sessionCareCommands } from '../../src/commands/sessionCare';
import { sessionCommands } from '../../src/commands/sessions';
import { turnCommands } from '../../src/commands/turns';
import { Key } from '../../src/common/key';
import { Diagnostic, Range, Selection, Uri, commands, editor, reset, window, workspace } from '../stub/vscode';
import { until } from './tools';

interface Menu {
  command?: string;
  submenu?: string;
}
interface Manifest {
  contributes: {
    commands: { command: string; title: string; category: string; enablement?: string }[];
    menus: Record<string, Menu[]>;
    submenus: { id: string }[];
    keybindings: { command: string }[];
    views: Record<string, { id: string }[]>;
    walkthroughs: { steps: { description: string; media: { markdown: string } }[] }[];
  };
}
const ROOT = new URL('../../', import.meta.url);
const { contributes } = JSON.parse(readFileSync(fileURLToPath(new URL('package.json', ROOT)), 'utf8')) as Manifest;
const FOCUS = 'steersman.sidebar.focus';

const current = {
  info: undefined as object | undefined,
  newSession: vi.fn(),
  fork: vi.fn(),
  open: vi.fn(),
  close: vi.fn(),
  start: vi.fn(),
  prompt: vi.fn(),
  steer: vi.fn(),
  cancel: vi.fn(),
  goal: vi.fn(),
  goalCommand: vi.fn(),
};
const sidebar = { reveal: vi.fn(), attach: vi.fn() };
const server = { state: 'running', request: vi.fn(), restart: vi.fn() };
const log = { show: vi.fn() };
const secrets = new Map<string, string>();
const key = new Key({
  get: (name: string) => Promise.resolve(secrets.get(name)),
  store: (name: string, value: string) => Promise.resolve(void secrets.set(name, value)),
  delete: (name: string) => Promise.resolve(void secrets.delete(name)),
} as never);

beforeEach(() => {
  reset();
  vi.resetAllMocks();
  secrets.clear();
  current.info = { sessionId: 's1', title: 'One', state: 'idle', lastSeq: 3, goal: { objective: 'Old words' } };
  window.activeTextEditor = undefined;
  workspace.workspaceFolders = undefined;
  sessionCommands(server as never, current as never);
  sessionCareCommands(server as never, current as never);
  turnCommands(current as never, sidebar as never);
  goalCommands(current as never, sidebar as never);
  editorCommands(current as never, sidebar as never);
  eventCommands(server as never, current as never);
  serverCommands(server as never, current as never, key, log as never);
});

const folder = (name: string) => ({ uri: Uri.parse(`file:///${name}`), name, index: 0 });
const run = (name: string, ...args: unknown[]) => commands.executeCommand(`steersman.${name}`, ...args);
const typed = (text: string | undefined) => vi.spyOn(window, 'showInputBox').mockResolvedValue(text);
const chooseMessage = async (item: string | undefined) => {
  await until(() => editor.messages.length > 0, 'a message');
  editor.messages[0]?.choose(item);
};

describe('the package', () => {
  it('offers exactly the commands that there are', () => {
    expect(contributes.commands.map(({ command }) => command).sort()).toEqual([...editor.commands.keys()].sort());
    for (const { category, title } of contributes.commands) {
      expect(category).toBe('Steersman');
      expect(title).not.toContain('Steersman');
    }
  });

  it('names no command, view or file that is not there', () => {
    const known = new Set([...contributes.commands.map(({ command }) => command), FOCUS]);
    const menus = Object.values(contributes.menus).flat();
    const used = [...menus, ...contributes.keybindings].flatMap(({ command }) => command ?? []);
    const steps = contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps);
    const linked = steps.flatMap(({ description }) =>
      [...description.matchAll(/command:(steersman\.[\w.]+)/g)].map(([, id]) => id ?? ''),
    );
    expect([...used, ...linked].filter((command) => !known.has(command))).toEqual([]);
    expect(menus.flatMap(({ submenu }) => submenu ?? [])).toEqual(contributes.submenus.map(({ id }) => id));
    for (const { media } of steps)
      expect(readFileSync(fileURLToPath(new URL(media.markdown, ROOT)), 'utf8')).not.toBe('');
  });
});

describe('a command that fails', () => {
  it('says so in its own words, without links', async () => {
    current.cancel.mockRejectedValue(new Error('The turn [is](command:x) over.'));
    await run('turn.cancel');
    expect(editor.messages[0]).toMatchObject({ kind: 'error' });
    expect(editor.messages[0]?.text).toContain('The turn [is]');
    expect(editor.messages[0]?.text).not.toContain('](');
  });
});

describe('the commands of a turn', () => {
  it('prompt with the words as they were typed', async () => {
    typed('  Fix it ');
    await run('turn.prompt');
    expect(current.prompt).toHaveBeenCalledWith('  Fix it ');
    expect(sidebar.reveal).toHaveBeenCalled();
  });

  it.each([undefined, '', '   '])('send nothing for %j', async (text) => {
    typed(text);
    await run('turn.prompt');
    await run('turn.steer');
    await run('goal.create');
    expect(current.prompt).not.toHaveBeenCalled();
    expect(current.steer).not.toHaveBeenCalled();
    expect(current.goalCommand).not.toHaveBeenCalled();
  });
});

describe('the commands of a goal', () => {
  it('tell the refusal of the server', async () => {
    typed('Make it work');
    current.goalCommand.mockResolvedValue({ ok: false, message: 'There is a goal already.', goal: null });
    await run('goal.create');
    expect(current.goalCommand).toHaveBeenCalledWith('/goal Make it work');
    expect(editor.messages[0]).toMatchObject({ kind: 'warning', text: 'Steersman: There is a goal already.' });
  });

  it('edit from the old words', async () => {
    const box = typed('New words');
    current.goalCommand.mockResolvedValue({ ok: true, message: '', goal: null });
    await run('goal.edit');
    expect(box.mock.calls[0]?.[0]).toMatchObject({ value: 'Old words' });
    expect(current.goalCommand).toHaveBeenCalledWith('/goal edit New words');
  });

  it.each([
    ['goal.accept', 'Accept', 'accept'],
    ['goal.clear', 'Clear', 'clear'],
  ])('ask once more before %s', async (name, button, verb) => {
    const refused = run(name);
    await chooseMessage(undefined);
    await refused;
    expect(current.goal).not.toHaveBeenCalled();
    editor.messages.length = 0;
    const agreed = run(name);
    await chooseMessage(button);
    await agreed;
    expect(current.goal).toHaveBeenCalledWith(verb);
  });

  it('pause and resume at once', async () => {
    await run('goal.pause');
    await run('goal.resume');
    expect(current.goal.mock.calls).toEqual([['pause'], ['resume']]);
  });
});

describe('the commands of the editor', () => {
  const FILE = Uri.parse('file:///work/a.py');
  const edit = (selection: Selection, scheme = FILE) => {
    window.activeTextEditor = {
      selection,
      document: {
        uri: scheme,
        getText: () => 'the text',
        lineAt: (line: number) => ({ range: new Range(line, 0, line, 9) }),
      },
    };
  };
  const range = (line: number, end: number) => ({ start: { line, character: 0 }, end: { line, character: end } });

  it('attach the selection, or the line of the cursor', async () => {
    edit(new Selection(1, 0, 1, 4));
    await run('selection.attach');
    expect(sidebar.attach).toHaveBeenCalledWith({
      uri: 'file:///work/a.py',
      range: range(1, 4),
      text: 'the text',
      kind: 'selection',
    });
    edit(new Selection(2, 3, 2, 3));
    await run('selection.attach');
    expect(sidebar.attach.mock.calls[1]?.[0]).toMatchObject({ range: range(2, 9) });
  });

  it('fix the problem at the cursor', async () => {
    edit(new Selection(1, 2, 1, 2));
    editor.diagnostics.set('file:///work/a.py', [
      new Diagnostic(new Range(0, 0, 0, 1), 'Other'),
      new Diagnostic(new Range(1, 0, 1, 5), 'Bad name'),
    ]);
    await run('diagnostic.fix');
    expect(current.prompt).toHaveBeenCalledWith('Fix this problem.', [
      { uri: 'file:///work/a.py', range: range(1, 5), text: 'Bad name', kind: 'diagnostic' },
    ]);
  });

  it('say what is missing', async () => {
    await run('selection.explain');
    expect(editor.messages[0]?.text).toContain('Open a file');
    edit(new Selection(1, 2, 1, 2));
    await run('diagnostic.fix');
    expect(editor.messages[1]?.text).toContain('no problem');
    edit(new Selection(1, 2, 1, 2), Uri.parse('untitled:x'));
    await run('selection.explain');
    expect(editor.messages[2]?.text).toContain('Open a file');
    expect(current.prompt).not.toHaveBeenCalled();
  });

  it('add tests for the file that was clicked', async () => {
    await run('tests.add', Uri.parse('file:///work/b.py'));
    expect(current.prompt.mock.calls[0]?.[1]).toEqual([{ uri: 'file:///work/b.py', kind: 'file' }]);
  });
});

describe('the commands of sessions', () => {
  const session = (sessionId: string, title: string) => ({ sessionId, title, updatedAt: 0, goal: null });

  it('open the one that was chosen, and show no title as an icon', async () => {
    server.request.mockResolvedValue({ sessions: [session('s1', 'One'), session('s2', 'Two $(trash)')] });
    const pick = vi.spyOn(window, 'showQuickPick').mockImplementation((items) => Promise.resolve(items[1]));
    await run('session.open');
    expect(current.open).toHaveBeenCalledWith('s2');
    const items = pick.mock.calls[0]?.[0] as { label: string }[];
    expect(items.map(({ label }) => label).join()).not.toContain('$(trash)');
  });

  it('close the shown one before they delete it, and open another', async () => {
    server.request.mockResolvedValueOnce({ sessions: [session('s1', 'One')] });
    vi.spyOn(window, 'showQuickPick').mockImplementation((items) => Promise.resolve(items[0]));
    const done = run('session.delete');
    await chooseMessage('Delete');
    await done;
    expect(current.close).toHaveBeenCalledBefore(current.start);
    expect(server.request).toHaveBeenLastCalledWith('steersman/session/delete', { sessionId: 's1' });
  });

  it('list those of every folder of the window, the latest first, and what they do now', async () => {
    workspace.workspaceFolders = [folder('a'), folder('b')];
    const of = (name: string, updatedAt: number, more = {}) => ({
      ...session(name, name),
      ...{ workspaceFolder: `file:///${name}`, updatedAt, state: 'idle', ...more },
    });
    server.request.mockImplementation((_method, { workspaceFolder }: { workspaceFolder: string }) =>
      Promise.resolve({
        sessions: [workspaceFolder.endsWith('a') ? of('a', 1, { state: 'running' }) : of('b', 2)],
      }),
    );
    const pick = vi.spyOn(window, 'showQuickPick');
    await run('session.open');
    const items = pick.mock.calls[0]?.[0] as { label: string; description: string }[];
    expect(items.map(({ label }) => label)).toEqual(['b', 'a']);
    expect(items[1]?.description).toMatch(/^a · .* · at work$/);
  });

  it('list more of them than one answer holds', async () => {
    server.request.mockResolvedValueOnce({ sessions: [session('s1', 'One')], nextCursor: 'more' });
    server.request.mockResolvedValueOnce({ sessions: [session('s2', 'Two')] });
    const pick = vi.spyOn(window, 'showQuickPick');
    await run('session.open');
    expect(pick.mock.calls[0]?.[0]).toHaveLength(2);
    expect(server.request.mock.calls[1]?.[1]).toMatchObject({ cursor: 'more' });
  });

  it('ask for the folder of a new one where there are several', async () => {
    await run('session.new');
    expect(current.newSession).toHaveBeenCalledExactlyOnceWith();
    workspace.workspaceFolders = [folder('a'), folder('b')];
    await run('session.new');
    expect(current.newSession).toHaveBeenCalledOnce();
    vi.spyOn(window, 'showWorkspaceFolderPick').mockResolvedValue(folder('b'));
    await run('session.new');
    expect(current.newSession).toHaveBeenLastCalledWith(Uri.parse('file:///b'));
  });

  it('say that there is none', async () => {
    server.request.mockResolvedValue({ sessions: [] });
    await run('session.open');
    expect(editor.messages[0]?.text).toContain('no session');
  });
});

describe('the commands of the session that is shown', () => {
  it('write it out as a document, in the form that was chosen', async () => {
    vi.spyOn(window, 'showQuickPick').mockImplementation((items) => Promise.resolve(items[0]));
    server.request.mockResolvedValue({ text: '# One' });
    await run('session.export');
    expect(server.request).toHaveBeenCalledWith('steersman/session/export', { sessionId: 's1', format: 'markdown' });
    expect(editor.opened).toEqual(['markdown: # One']);
  });

  it.each([
    [true, '9000 → 800 tokens'],
    [false, 'nothing that could be summed up'],
  ])('tell what summing up brought: %j', async (compacted, words) => {
    server.request.mockResolvedValue({ compacted, tokensBefore: 9000, tokensAfter: 800 });
    await run('session.compact');
    expect(editor.messages[0]?.text).toContain(words);
  });

  it('cut a damaged one back only if a person says so', async () => {
    current.info = { sessionId: 's1', damaged: { seq: 9, reason: 'torn' } };
    const refused = run('session.repair');
    await chooseMessage(undefined);
    await refused;
    expect(server.request).not.toHaveBeenCalled();
    editor.messages.length = 0;
    const done = run('session.repair');
    await chooseMessage('Cut back');
    await done;
    expect(server.request).toHaveBeenCalledWith('steersman/session/repair', { sessionId: 's1', throughSeq: 8 });
    expect(current.open).toHaveBeenCalledWith('s1');
  });

  it('name it and its model, and change neither where nothing is typed', async () => {
    typed(undefined);
    await run('session.rename');
    await run('model.select');
    expect(server.request).not.toHaveBeenCalled();
    typed(' another-model ');
    await run('model.select');
    expect(server.request).toHaveBeenCalledWith('steersman/session/configure', {
      sessionId: 's1',
      model: 'another-model',
    });
  });

  it('fork it', async () => {
    await run('session.fork');
    expect(current.fork).toHaveBeenCalledOnce();
  });

  it('say that there is none', async () => {
    current.info = undefined;
    await run('session.fork');
    await run('session.export');
    expect(editor.messages.map(({ text }) => text).join()).toContain('There is no session');
    expect(current.fork).not.toHaveBeenCalled();
  });
});

describe('the commands of the server', () => {
  it('keep the key in the secret storage, without the white space around it', async () => {
    const box = typed(' sk-words ');
    await run('key.set');
    expect([...secrets.values()]).toEqual(['sk-words']);
    expect(box.mock.calls[0]?.[0]).toMatchObject({ password: true });
    const forgotten = run('key.forget');
    await chooseMessage(undefined);
    await forgotten;
    expect([...secrets.values()]).toEqual([]);
  });

  it('ask before a restart stops the work', async () => {
    current.info = { state: 'running' };
    const refused = run('server.restart');
    await chooseMessage(undefined);
    await refused;
    expect(server.restart).not.toHaveBeenCalled();
    current.info = { state: 'idle' };
    await run('server.restart');
    expect(server.restart).toHaveBeenCalledOnce();
  });
});

describe('the document of events', () => {
  it('holds every page, one event a line', async () => {
    const event = (seq: number) => ({ sessionId: 's1', seq, time: 0, type: 'step/start', data: { turn: 1 } });
    server.request.mockResolvedValueOnce({ events: [event(1), event(2)], lastSeq: 3, hasMore: true });
    server.request.mockResolvedValueOnce({ events: [event(3)], lastSeq: 3, hasMore: false });
    const provider = editor.contentProviders.get('steersman-events');
    const text = await provider?.provideTextDocumentContent({ query: 's1' });
    const lines = text
      ?.trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { seq: number });
    expect(lines?.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(server.request.mock.calls.map(([, params]) => (params as { afterSeq: number }).afterSeq)).toEqual([0, 2]);
  });
});
