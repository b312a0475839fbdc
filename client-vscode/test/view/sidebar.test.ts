// The sidebar on the extension's side: what its page is told, and what becomes of what the page says.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';
import { CurrentSession } from '../../src/session/current';
import { WaitingRoom } from '../../src/session/waiting';
import type { ToPage } from '../../src/views/messages';
import { KeptDraft } from '../../src/views/draft';
import { Sidebar } from '../../src/views/sidebar';
import { forPage } from '../../src/views/viewState';
import { editor, env, EventEmitter, reset, Uri, workspace } from '../stub/vscode';
import { neverCancelled, until } from '../host/tools';
import { FakeMemory, FakeWire, refusal } from './fakeWire';
import { goal, Log, session } from './values';

/** The editor's side of a page. */
class FakeView {
  readonly posted: ToPage[] = [];
  readonly visibility = new EventEmitter<void>();
  readonly disposed = new EventEmitter<void>();
  private readonly received = new EventEmitter<unknown>();
  visible = true;
  shown = 0;
  readonly webview = {
    html: '',
    options: {} as vscode.WebviewOptions,
    cspSource: 'https://page.test',
    asWebviewUri: (uri: Uri) => uri,
    onDidReceiveMessage: this.received.event,
    postMessage: (message: ToPage) => {
      this.posted.push(message);
      return Promise.resolve(true);
    },
  };
  readonly onDidChangeVisibility = this.visibility.event;
  readonly onDidDispose = this.disposed.event;
  show(): void {
    this.shown += 1;
  }
  say(message: unknown): void {
    this.received.fire(message);
  }
  of<T extends ToPage['type']>(type: T): Extract<ToPage, { type: T }>[] {
    return this.posted.filter((message): message is Extract<ToPage, { type: T }> => message.type === type);
  }
}

describe('the sidebar', () => {
  let wire: FakeWire;
  let current: CurrentSession;
  let room: WaitingRoom;
  let sidebar: Sidebar;
  let memory: FakeMemory;
  let view: FakeView;
  const warn = vi.fn();
  const log = new Log().turn(1, 'hi');
  const resolve = () => {
    view = new FakeView();
    sidebar.resolveWebviewView(view as unknown as vscode.WebviewView);
  };
  const sidebarWith = (draft: KeptDraft) =>
    new Sidebar(Uri.parse('file:///extension') as unknown as vscode.Uri, current, room, wire, draft, { warn });
  const send = (how: string, text: string) => {
    view.say({ type: 'send', send: 1, how, text, context: [] });
  };
  const told = () => until(() => view.of('told').length > 0, 'a word is told');
  beforeEach(async () => {
    reset();
    warn.mockReset();
    workspace.isTrusted = true;
    workspace.workspaceFolders = [{ uri: Uri.parse('file:///w'), name: 'w', index: 0 }];
    const model = { name: 'a-model', baseUrl: null, configured: true };
    wire = new FakeWire()
      .serve(session({ goal: goal() }), log.events)
      .answer('steersman/turn/prompt', () => ({ messageId: 'm', outcome: 'started' }))
      .answer('steersman/turn/steer', () => ({ messageId: 'm', outcome: 'injected' }))
      .answer('steersman/turn/cancel', () => ({ cancelled: true }))
      .answer('steersman/status', () => ({ version: '1', protocolVersion: 1, model, stateDir: '', sessions: 1 }));
    current = new CurrentSession(wire, new FakeMemory(), () => undefined);
    room = new WaitingRoom();
    memory = new FakeMemory();
    sidebar = sidebarWith(new KeptDraft(memory));
    await current.open('s1');
    resolve();
  });

  it('has a page that may run its own script and nothing else', () => {
    const { html, options } = view.webview;
    const policy = /content="(default-src[^"]*)"/.exec(html)?.[1];
    const nonce = /<script nonce="(\w+)"/.exec(html)?.[1];
    expect(policy).toBe(
      `default-src 'none'; style-src https://page.test; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`,
    );
    expect(html).not.toMatch(/unsafe|style=|onload/);
    expect(options).toMatchObject({ enableScripts: true, enableCommandUris: false });
    const before = nonce;
    resolve();
    expect(view.webview.html).not.toContain(before);
  });

  it('says nothing before the page asks, and everything then', () => {
    wire.append(new Log().turn(1, 'x').events);
    expect(view.posted).toEqual([]);
    view.say({ type: 'ready' });
    expect(view.of('state')[0]?.state).toMatchObject({
      server: { state: 'running' },
      hasFolder: true,
      opening: { kind: 'open' },
      session: { sessionId: 's1' },
    });
    expect(view.of('events')).toMatchObject([{ isAll: true, events: log.events }]);
  });

  it('says what is new from then on, and the state not more often than it can be seen', async () => {
    view.say({ type: 'ready' });
    const more = new Log().turn(1, 'hi').chunk('a').events.slice(3);
    wire.append(more);
    expect(view.of('events').at(-1)).toMatchObject({ isAll: false, events: more });
    await until(() => view.of('state').some(({ state }) => state.model?.name === 'a-model'), 'the model is told');
    const before = view.of('state').length;
    for (let turn = 1; turn <= 50; turn += 1) wire.change(session({ lastSeq: 4, turn }));
    await until(() => view.of('state').at(-1)?.state.session?.turn === 50, 'the last state is told');
    expect(view.of('state').length - before).toBeLessThanOrEqual(2);
  });

  it('gives a page that was thrown away everything again', () => {
    view.say({ type: 'ready' });
    view.visible = false;
    view.visibility.fire();
    const before = view.posted.length;
    wire.append(new Log().turn(1, 'hi').chunk('a').events);
    expect(view.posted).toHaveLength(before);
    view.visible = true;
    view.visibility.fire();
    view.say({ type: 'ready' });
    expect(view.of('events').at(-1)).toMatchObject({ isAll: true });
    expect(view.of('events').at(-1)?.events).toHaveLength(4);
  });

  it('ignores what does not fit, and notes that', () => {
    for (const message of [null, 'ready', { type: 'eval' }, { type: 'act', action: 'rm' }]) view.say(message);
    expect(warn).toHaveBeenCalledTimes(4);
    expect(view.posted).toEqual([]);
  });

  it.each([
    ['prompt', 'steersman/turn/prompt'],
    ['steer', 'steersman/turn/steer'],
  ] as const)('passes a %s on, and tells that it was taken', async (how, method) => {
    send(how, 'words');
    await until(() => view.of('sent').length > 0, 'it is told');
    expect(view.of('sent')).toEqual([{ type: 'sent', send: 1, problem: undefined }]);
    expect(wire.of(method)).toMatchObject([{ text: 'words' }]);
  });

  it('tells why a send was refused', async () => {
    wire.answer('steersman/turn/prompt', () => {
      throw refusal('notConfigured', 'No model is set.');
    });
    send('prompt', 'words');
    await until(() => view.of('sent').length > 0, 'it is told');
    expect(view.of('sent')).toEqual([{ type: 'sent', send: 1, problem: 'No model is set.' }]);
    expect(wire.of('steersman/status').length).toBeGreaterThan(0);
  });

  it.each([
    ['/goal', true, true],
    ['/goal pause', true, false],
    ['/goal pause', false, true],
  ])('shows the answer to %s (ok: %s): %s', async (text, ok, isTold) => {
    wire.answer('steersman/goal/command', () => ({ message: '**Goal**', goal: null, ok }));
    send('goal', text);
    await until(() => view.of('sent').length > 0, 'it is told');
    const answer = { type: 'told', words: '**Goal**', isProblem: !ok, isMarkdown: true };
    expect(view.of('told')).toEqual(isTold ? [answer] : []);
    expect(view.of('sent')[0]?.problem === undefined).toBe(ok);
  });

  it('tells what went wrong with a button', async () => {
    wire.answer('steersman/goal/pause', () => {
      throw refusal('goalTransition', 'It is complete.');
    });
    view.say({ type: 'goal', verb: 'pause' });
    await told();
    expect(view.of('told')).toEqual([{ type: 'told', words: 'It is complete.', isProblem: true, isMarkdown: false }]);
  });

  it('stops', async () => {
    view.say({ type: 'stop' });
    await until(() => wire.of('steersman/turn/cancel').length === 1, 'it is asked');
  });

  it('passes a decision on once, and says when it came too late', async () => {
    const request = { approvalId: 'a', sessionId: 's1', turn: 1, callId: 'c', tool: 't', title: '', detail: '' };
    const answer = room.askApproval({ ...request, risk: 'edit' }, neverCancelled());
    view.say({ type: 'ready' });
    expect(view.of('state')[0]?.state.waiting).toMatchObject([{ kind: 'approval', id: 'a' }]);
    view.say({ type: 'decide', id: 'a', decision: 'deny', feedback: 'no' });
    expect(await answer).toEqual({ decision: 'deny', feedback: 'no' });
    view.say({ type: 'decide', id: 'a', decision: 'allowOnce' });
    await told();
    expect(view.of('told')[0]?.words).toContain('answered already');
  });

  it('passes an answer on', async () => {
    const answer = room.askQuestion({ questionId: 'q', sessionId: 's1', turn: 1, text: '?' }, neverCancelled());
    view.say({ type: 'answer', id: 'q', answer: 'left' });
    expect(await answer).toEqual({ answer: 'left' });
  });

  it('opens web pages, and only files of the folder', async () => {
    view.say({ type: 'openLink', url: 'https://example.com/' });
    view.say({ type: 'openFile', uri: 'file:///w/a.py', line: 3 });
    view.say({ type: 'openFile', uri: 'file:///etc/passwd' });
    await told();
    expect(editor.opened).toEqual(['https://example.com/', 'file:///w/a.py']);
    expect(view.of('told')[0]?.words).toContain('not in the open folder');
  });

  it('keeps what is for the composer until its page is there', () => {
    sidebar.compose('text');
    sidebar.attach({ uri: 'file:///w/a.py' });
    expect(view.posted).toEqual([]);
    view.say({ type: 'ready' });
    expect(view.posted.slice(-2)).toEqual([
      { type: 'compose', text: 'text' },
      { type: 'attach', item: { uri: 'file:///w/a.py' } },
    ]);
  });

  const drafts = () => view.of('draft').map(({ draft }) => draft.text);

  it('gives a new page what was written and not sent, in this window or in the one before', async () => {
    const draft = { text: 'half a tho', context: [{ uri: 'file:///w/a.py' }] };
    view.say({ type: 'draft', draft });
    resolve();
    view.say({ type: 'ready' });
    expect(view.of('draft')).toEqual([{ type: 'draft', draft }]);
    await until(() => memory.kept.size > 0, 'it is kept');
    sidebar = sidebarWith(new KeptDraft(memory));
    resolve();
    view.say({ type: 'ready' });
    expect(view.of('draft')).toEqual([{ type: 'draft', draft }]);
  });

  it('gives no page words again that were sent while it was thrown away', async () => {
    view.say({ type: 'draft', draft: { text: 'do it ', context: [] } });
    send('prompt', 'do it');
    resolve();
    await until(() => wire.of('steersman/turn/prompt').length > 0, 'it is sent');
    view.say({ type: 'ready' });
    await until(() => drafts().length > 0, 'the page has its draft');
    expect(drafts()).toEqual(['']);
    expect(memory.kept.has('steersman.draft')).toBe(false);
  });

  it.each([
    [undefined, 'workbench.action.openSettings'],
    ['ssh-remote', 'workbench.action.openRemoteSettings'],
  ])('shows the settings of the model where they can be set: in a window on %j', async (remoteName, command) => {
    env.remoteName = remoteName;
    const shown = vi.fn();
    editor.commands.set(command, shown);
    view.say({ type: 'act', action: 'setModel' });
    await until(() => shown.mock.calls.length > 0, 'they are shown');
    expect(shown).toHaveBeenCalledWith({ query: 'steersman.model' });
  });

  it('is visible as long as its page is', () => {
    const seen: boolean[] = [];
    sidebar.onDidChangeVisibility((visible) => seen.push(visible));
    expect(sidebar.visible).toBe(true);
    view.visible = false;
    view.visibility.fire();
    expect(sidebar.visible).toBe(false);
    view.disposed.fire();
    expect(sidebar.visible).toBe(false);
    expect(seen).toEqual([false, false]);
  });
});

it('the page gets no system prompt, and no text longer than it can show', () => {
  const long = 'x'.repeat(1_000_000);
  const log = new Log()
    .sayAnything('request/header', { system: 'secret' })
    .call('c', 't', {})
    .result('c', { content: long });
  const [header, call, result] = forPage(log.events);
  expect(header?.data).toEqual({});
  expect(call).toBe(log.events[1]);
  expect(JSON.stringify(result).length).toBeLessThan(201_000);
});
