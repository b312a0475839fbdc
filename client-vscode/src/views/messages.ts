// What the sidebar and its page say to each other. What comes from the page is read like anything from outside.
import type { ContextItem, SessionInfo, StoredEvent } from '../lsp/protocol';
import type { ServerState } from '../lsp/wire';
import type { GoalVerb, Opening } from '../session/values';
import type { Waiting } from '../session/waiting';

/** Everything that the page shows beside the transcript. Sent whole. */
export interface ViewState {
  readonly server: { readonly state: ServerState; readonly problem: string | undefined };
  readonly hasFolder: boolean;
  readonly isTrusted: boolean;
  /** Undefined where the server was not asked yet. */
  readonly model: { readonly name: string | null; readonly isConfigured: boolean } | undefined;
  readonly opening: Opening;
  readonly session: SessionInfo | undefined;
  readonly hasEarlier: boolean;
  readonly waiting: readonly Waiting[];
}

/** What a person has written and not sent. */
export interface Draft {
  readonly text: string;
  readonly context: readonly ContextItem[];
}

export type ToPage =
  | { readonly type: 'state'; readonly state: ViewState }
  /** `isAll`: these are all events of the session that is shown now, and whatever was shown is gone. */
  | { readonly type: 'events'; readonly events: readonly StoredEvent[]; readonly isAll: boolean }
  | { readonly type: 'sent'; readonly send: number; readonly problem: string | undefined }
  /** Words for the person about something that they did. `isMarkdown`: of the server's own making. */
  | { readonly type: 'told'; readonly words: string; readonly isProblem: boolean; readonly isMarkdown: boolean }
  /** What an earlier page was left with. */
  | { readonly type: 'draft'; readonly draft: Draft }
  | { readonly type: 'compose'; readonly text: string }
  | { readonly type: 'attach'; readonly item: ContextItem };

export const ACTIONS = [
  'newSession',
  'openSession',
  'openFolder',
  'restartServer',
  'showLog',
  'setModel',
  'setKey',
  'trustFolder',
  'openAgain',
  'repair',
] as const;
export type Action = (typeof ACTIONS)[number];

const HOWS = ['prompt', 'steer', 'goal'] as const;
const VERBS = ['pause', 'resume', 'clear', 'accept'] as const satisfies readonly GoalVerb[];
const DECISIONS = ['allowOnce', 'allowSession', 'deny'] as const;

export type FromPage =
  | { readonly type: 'ready' }
  | {
      readonly type: 'send';
      readonly send: number;
      readonly how: (typeof HOWS)[number];
      readonly text: string;
      readonly context: ContextItem[];
    }
  | { readonly type: 'draft'; readonly draft: Draft }
  | { readonly type: 'stop' }
  | { readonly type: 'earlier' }
  | { readonly type: 'goal'; readonly verb: GoalVerb }
  | { readonly type: 'removeQueued'; readonly messageId: string }
  | { readonly type: 'updateQueued'; readonly messageId: string; readonly text: string }
  | { readonly type: 'releaseQueue' }
  | {
      readonly type: 'decide';
      readonly id: string;
      readonly decision: (typeof DECISIONS)[number];
      readonly feedback: string | undefined;
    }
  | { readonly type: 'answer'; readonly id: string; readonly answer: string | null }
  | { readonly type: 'act'; readonly action: Action }
  | { readonly type: 'openLink'; readonly url: string }
  | { readonly type: 'openFile'; readonly uri: string; readonly line: number | undefined };

const LONGEST_TEXT = 2_000_000;
const LONGEST_WORD = 8_192;
const MOST_ATTACHED = 50;

/** A message of the page; undefined where it is none. */
export function readMessage(message: unknown): FromPage | undefined {
  if (!isRecord(message)) return undefined;
  const { type } = message;
  switch (type) {
    case 'ready':
    case 'stop':
    case 'earlier':
    case 'releaseQueue':
      return { type };
    case 'send':
      return readSend(message);
    case 'draft': {
      const draft = readDraft(message.draft);
      return draft && { type, draft };
    }
    case 'goal':
      return isOneOf(VERBS, message.verb) ? { type, verb: message.verb } : undefined;
    case 'removeQueued':
      return isWord(message.messageId) ? { type, messageId: message.messageId } : undefined;
    case 'updateQueued':
      return isWord(message.messageId) && isText(message.text)
        ? { type, messageId: message.messageId, text: message.text }
        : undefined;
    case 'decide':
      return isWord(message.id) && isOneOf(DECISIONS, message.decision) && isOptional(isText, message.feedback)
        ? { type, id: message.id, decision: message.decision, feedback: message.feedback }
        : undefined;
    case 'answer':
      return isWord(message.id) && (message.answer === null || isText(message.answer))
        ? { type, id: message.id, answer: message.answer }
        : undefined;
    case 'act':
      return isOneOf(ACTIONS, message.action) ? { type, action: message.action } : undefined;
    case 'openLink':
      return isWebAddress(message.url) ? { type, url: message.url } : undefined;
    case 'openFile':
      return isFileUri(message.uri) && isOptional(isLine, message.line)
        ? { type, uri: message.uri, line: message.line }
        : undefined;
    default:
      return undefined;
  }
}

function readSend(message: Record<string, unknown>): FromPage | undefined {
  const { send, how, text, context } = message;
  if (!isLine(send) || !isOneOf(HOWS, how) || !isText(text) || text.trim() === '') return undefined;
  return isContext(context) ? { type: 'send', send, how, text, context } : undefined;
}

/** A draft, of the page or of what the editor kept. */
export function readDraft(value: unknown): Draft | undefined {
  if (!isRecord(value)) return undefined;
  const { text, context } = value;
  return isText(text) && isContext(context) ? { text, context } : undefined;
}

function isContext(value: unknown): value is ContextItem[] {
  return Array.isArray(value) && value.length <= MOST_ATTACHED && value.every(isContextItem);
}

const KINDS = ['selection', 'diagnostic', 'file'] as const satisfies readonly ContextItem['kind'][];

function isContextItem(value: unknown): value is ContextItem {
  if (!isRecord(value)) return false;
  const { uri, text, kind, range, ...others } = value;
  if (Object.keys(others).length > 0 || !isWord(uri)) return false;
  return (
    isOptional(isText, text) &&
    isOptional((given): given is string => isOneOf(KINDS, given), kind) &&
    isOptional(isRange, range)
  );
}

function isRange(value: unknown): value is ContextItem['range'] {
  return isRecord(value) && isPosition(value.start) && isPosition(value.end);
}

function isPosition(value: unknown): boolean {
  return isRecord(value) && isLine(value.line) && isLine(value.character);
}

export function isWebAddress(value: unknown): value is string {
  return isWord(value) && /^https?:\/\/[^\s/?#]/i.test(value) && URL.canParse(value);
}

function isFileUri(value: unknown): value is string {
  return isWord(value) && /^(?:file|vscode-remote):\/\//i.test(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= LONGEST_TEXT;
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= LONGEST_WORD;
}

function isLine(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isOneOf<T extends string>(values: readonly T[], value: unknown): value is T {
  return (values as readonly unknown[]).includes(value);
}

function isOptional<T>(is: (value: unknown) => value is T, value: unknown): value is T | undefined {
  return value === undefined || is(value);
}
