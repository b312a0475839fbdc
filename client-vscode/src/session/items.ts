// What a transcript consists of. Values only: an item that changes is replaced by another with the same seq.
import type { CheckResult, ContextItem, TestCase, TestCounts, TestReceipt } from '../lsp/protocol';

/** `seq` is that of the item's first event, and its key. `time` is in milliseconds since the epoch. */
interface Base {
  readonly seq: number;
  readonly time: number;
}

/** Words that the model was given. Only those `from` a person are a person's. */
export interface MessageItem extends Base {
  readonly kind: 'message';
  readonly from: 'person' | 'goal' | 'notice';
  /** The round, or the notice's name. */
  readonly label: string;
  readonly text: string;
  readonly context: readonly ContextItem[];
  /** It joined a turn that was under way. */
  readonly steer: boolean;
}

export interface ReplyItem extends Base {
  readonly kind: 'reply';
  readonly text: string;
  readonly reasoning: string;
  readonly state: 'streaming' | 'done' | 'interrupted' | 'dropped';
  /** The tool whose call is being written. */
  readonly preparing: string | undefined;
}

export type ToolState =
  'called' | 'asked' | 'waiting' | 'running' | 'ok' | 'error' | 'denied' | 'timeout' | 'aborted' | 'notRun' | 'unknown';

export interface Decision {
  readonly title: string;
  /** How it was decided, in words; undefined while it is open. */
  readonly words: string | undefined;
  readonly feedback: string | undefined;
}

export interface Change {
  readonly uri: string;
  readonly what: 'edit' | 'create' | 'rename' | 'delete';
  readonly added: number;
  readonly removed: number;
}

export interface ToolItem extends Base {
  readonly kind: 'tool';
  readonly callId: string;
  readonly name: string;
  /** What it acts on, in a few words. */
  readonly line: string;
  /** The arguments as the model wrote them. */
  readonly arguments: string;
  readonly state: ToolState;
  readonly startedAt: number | undefined;
  readonly durationMs: number | undefined;
  readonly output: string;
  readonly error: { readonly code: string; readonly message: string } | undefined;
  readonly verified: { readonly ok: boolean; readonly note: string } | undefined;
  readonly approval: Decision | undefined;
  readonly changes: readonly Change[];
}

export interface QuestionItem extends Base {
  readonly kind: 'question';
  readonly text: string;
  readonly choices: readonly string[];
  readonly state: 'open' | 'answered' | 'unanswered';
  /** The answer, or why there is none. */
  readonly answer: string;
}

export interface RetryItem extends Base {
  readonly kind: 'retry';
  readonly words: string;
  readonly tries: number;
}

export interface ReceiptItem extends Base {
  readonly kind: 'receipt';
  readonly status: TestReceipt['status'];
  readonly counts: TestCounts;
  readonly failing: readonly TestCase[];
  readonly command: string;
  readonly output: string;
  readonly durationMs: number;
}

export type Tone = 'quiet' | 'good' | 'warning' | 'bad';

export interface VerificationItem extends Base {
  readonly kind: 'verification';
  readonly title: string;
  readonly tone: Tone;
  readonly results: readonly CheckResult[];
  readonly tampered: readonly string[];
}

/** One line; `detail` on demand. */
export interface LineItem extends Base {
  readonly kind: 'line';
  readonly about: 'goal' | 'verdict' | 'session' | 'queue' | 'context' | 'other';
  readonly tone: Tone;
  readonly words: string;
  readonly detail: string | undefined;
}

export interface EndItem extends Base {
  readonly kind: 'end';
  /** What a person can do about it here. */
  readonly remedy?: 'setKey' | 'setModel';
  readonly tone: Tone;
  readonly words: string;
  readonly durationMs: number | undefined;
}

export type Item =
  MessageItem | ReplyItem | ToolItem | QuestionItem | RetryItem | ReceiptItem | VerificationItem | LineItem | EndItem;
