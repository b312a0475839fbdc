// What the page may say to the extension: anything may come, only what fits is taken.
import { describe, expect, it } from 'vitest';
import { readMessage } from '../../src/views/messages';

const send = { type: 'send', send: 1, how: 'prompt', text: 'hi', context: [] };

describe('a message of the page', () => {
  it.each([
    [{ type: 'ready' }],
    [{ type: 'stop' }],
    [{ type: 'earlier' }],
    [{ type: 'releaseQueue' }],
    [send],
    [{ ...send, context: [{ uri: 'file:///a', kind: 'file' }] }],
    [
      {
        ...send,
        context: [
          { uri: 'file:///a', text: 'x', range: { start: { line: 0, character: 0 }, end: { line: 1, character: 2 } } },
        ],
      },
    ],
    [{ type: 'goal', verb: 'resume' }],
    [{ type: 'removeQueued', messageId: 'm' }],
    [{ type: 'updateQueued', messageId: 'm', text: 'x' }],
    [{ type: 'decide', id: 'a', decision: 'deny', feedback: 'no' }],
    [{ type: 'answer', id: 'q', answer: null }],
    [{ type: 'act', action: 'setKey' }],
    [{ type: 'openLink', url: 'https://example.com/a?b#c' }],
    [{ type: 'openFile', uri: 'file:///w/a.py', line: 3 }],
  ])('that fits is taken as it is: %j', (message) => {
    expect(readMessage(message)).toEqual(message);
  });

  it.each([
    [undefined],
    [null],
    ['ready'],
    [[]],
    [{}],
    [{ type: 'eval', code: 'x' }],
    [{ type: 'toString' }],
    [{ ...send, text: '   ' }],
    [{ ...send, text: 3 }],
    [{ ...send, text: 'x'.repeat(2_000_001) }],
    [{ ...send, how: 'shout' }],
    [{ ...send, send: -1 }],
    [{ ...send, send: 1.5 }],
    [{ ...send, context: 'all' }],
    [{ ...send, context: [{ uri: '' }] }],
    [{ ...send, context: [{ uri: 'file:///a', kind: 'secret' }] }],
    [{ ...send, context: [{ uri: 'file:///a', range: { start: { line: -1, character: 0 } } }] }],
    [{ ...send, context: [{ uri: 'file:///a', more: 1 }] }],
    [{ ...send, context: Array.from({ length: 51 }, () => ({ uri: 'file:///a' })) }],
    [{ type: 'goal', verb: 'complete' }],
    [{ type: 'removeQueued' }],
    [{ type: 'updateQueued', messageId: 'm' }],
    [{ type: 'decide', id: 'a', decision: 'allow' }],
    [{ type: 'decide', id: 'a', decision: 'deny', feedback: 3 }],
    [{ type: 'answer', id: 'q' }],
    [{ type: 'act', action: 'workbench.action.terminal.new' }],
    [{ type: 'openLink', url: 'command:steersman.key.forget' }],
    [{ type: 'openLink', url: 'javascript:alert(1)' }],
    [{ type: 'openLink', url: 'file:///etc/passwd' }],
    [{ type: 'openLink', url: 'https://' }],
    [{ type: 'openLink', url: ' https://example.com' }],
    [{ type: 'openFile', uri: 'https://example.com' }],
    [{ type: 'openFile', uri: 'command:x' }],
    [{ type: 'openFile', uri: 'file:///a', line: '3' }],
  ])('that does not fit is none: %j', (message) => {
    expect(readMessage(message)).toBeUndefined();
  });

  it('brings nothing along that it was not asked for', () => {
    expect(readMessage({ type: 'stop', sessionId: 'other', __proto__: { a: 1 } })).toEqual({ type: 'stop' });
  });
});
