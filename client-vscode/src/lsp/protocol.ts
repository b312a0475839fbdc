// Generated from the server's messages by scripts/protocol_types.py. Do not edit.
// Members with a `?` are left out where they have their default.

/* eslint-disable */

export const PROTOCOL_VERSION = 1;

/** What a client asks of the server. */
export interface Requests {
  'steersman/session/new': { params: NewSession; result: SessionInfo };
  'steersman/session/list': { params: ListSessions; result: SessionList };
  'steersman/session/open': { params: OpenSession; result: SessionInfo };
  'steersman/session/fork': { params: ForkSession; result: SessionInfo };
  'steersman/session/export': { params: ExportSession; result: Exported };
  'steersman/session/repair': { params: RepairSession; result: SessionInfo };
  'steersman/session/close': { params: SessionOnly; result: Nothing };
  'steersman/session/rename': { params: RenameSession; result: SessionInfo };
  'steersman/session/delete': { params: SessionOnly; result: Nothing };
  'steersman/session/events': { params: ReadEvents; result: EventPage };
  'steersman/session/configure': { params: ConfigureSession; result: SessionInfo };
  'steersman/session/compact': { params: SessionOnly; result: Compacted };
  'steersman/turn/prompt': { params: Prompt; result: Accepted };
  'steersman/turn/steer': { params: Steer; result: Accepted };
  'steersman/turn/cancel': { params: CancelTurn; result: Cancelled };
  'steersman/queue/remove': { params: RemoveMessage; result: Removed };
  'steersman/queue/update': { params: UpdateMessage; result: Updated };
  'steersman/queue/release': { params: SessionOnly; result: Released };
  'steersman/goal/get': { params: GetGoal; result: GoalView | null };
  'steersman/goal/create': { params: CreateGoal; result: GoalView };
  'steersman/goal/edit': { params: EditGoal; result: GoalView };
  'steersman/goal/pause': { params: GoalAt; result: GoalView };
  'steersman/goal/resume': { params: GoalAt; result: GoalView };
  'steersman/goal/complete': { params: CompleteGoal; result: GoalView };
  'steersman/goal/clear': { params: GoalAt; result: null };
  'steersman/goal/command': { params: CommandGoal; result: GoalAnswer };
  'steersman/credentials/set': { params: SetCredentials; result: Nothing };
  'steersman/status': { params: Nothing; result: Status };
}

/** What the server asks of a client that offers it. */
export interface ServerRequests {
  'steersman/approval/request': { params: ApprovalRequest; result: ApprovalDecision };
  'steersman/question/ask': { params: QuestionRequest; result: QuestionReply };
  'steersman/tests/run': { params: TestsRequest; result: TestReceipt | Running };
  'steersman/command/run': { params: CommandRequest; result: CommandOutcome | Running };
  'steersman/document/save': { params: SaveRequest; result: Saved };
  'steersman/query': { params: QueryRequest; result: unknown };
}

/** What the server tells. */
export interface ServerNotifications {
  'steersman/session/didAppend': Appended;
  'steersman/session/didChange': Changed;
  'steersman/request/cancelled': Withdrawn;
}

/** What a client tells. */
export interface ClientNotifications {
  'steersman/workspace/trust': Trust;
  'steersman/tests/result': TestReceipt;
  'steersman/tests/progress': TestsProgress;
  'steersman/command/result': CommandResult;
}

/** The data of each type of event. */
export interface Events {
  'session/created': SessionCreated;
  'session/opened': SessionOpened;
  'session/configured': SessionConfigured;
  'inbox/queued': InboxQueued;
  'inbox/claimed': InboxClaimed;
  'inbox/edited': InboxEdited;
  'inbox/removed': InboxRemoved;
  'inbox/moved': InboxMoved;
  'inbox/held': InboxHeld;
  'inbox/released': InboxReleased;
  'turn/start': TurnStart;
  'turn/end': TurnEnd;
  'step/start': StepStart;
  'step/end': StepEnd;
  'user/message': UserMessage;
  'request/header': RequestHeader;
  'assistant/chunk': AssistantChunk;
  'assistant/message': AssistantMessage;
  'tool/call': ToolCalled;
  'tool/start': ToolStart;
  'tool/result': ToolResult;
  'model/retry': ModelRetry;
  'approval/asked': ApprovalAsked;
  'approval/decided': ApprovalDecided;
  'question/asked': QuestionAsked;
  'question/answered': QuestionAnswered;
  'edit/planned': EditPlanned;
  'edit/applied': EditApplied;
  'tests/receipt': TestsReceipt;
  'goal/change': GoalChanged;
  'goal/round': GoalRound;
  'goal/blocker': GoalBlocker;
  'goal/verification': GoalVerification;
  'context/compacted': ContextCompacted;
  'compaction/failed': CompactionFailed;
  'exit/verdict': ExitVerdict;
  'task/state': TaskChanged;
}

/** An event of a type that this version knows. */
export type EventOf<T extends keyof Events> = Omit<EventView, 'type' | 'data'> & { type: T; data: Events[T] };

/** An event of a session's log. Types that are not in `Events` come from a newer server. */
export type StoredEvent = EventView;

export function isEvent<T extends keyof Events>(event: StoredEvent, type: T): event is EventOf<T> {
  return event.type === type;
}

export interface AbortedReason {
  kind: 'aborted';
  by: 'human' | 'trust' | 'shutdown';
}

/** The answer to a prompt or a steer. */
export interface Accepted {
  messageId: string;
  outcome: 'started' | 'queued' | 'injected' | 'startedTurn';
  turn?: number;
}

/** Durable events of a session, in order. */
export interface Appended {
  sessionId: string;
  events: EventView[];
}

export interface ApprovalAsked {
  approvalId: string;
  callId: string;
  turn: number;
  tool: string;
  title: string;
  detail: string;
  risk: 'edit' | 'execute' | 'network' | 'destructive';
  uris?: string[];
  argv?: string[];
  remember?: string;
}

export interface ApprovalDecided {
  approvalId: string;
  decision: 'allowOnce' | 'allowSession' | 'deny';
  by: 'human' | 'rule' | 'timeout' | 'cancelled';
  feedback?: string;
}

/** A person's answer. `feedback` is told to the model. */
export interface ApprovalDecision {
  decision: 'allowOnce' | 'allowSession' | 'deny';
  feedback?: string;
}

/** May this call be run? `detail` is Markdown. */
export interface ApprovalRequest {
  approvalId: string;
  sessionId: string;
  turn: number | null;
  callId: string;
  tool: string;
  title: string;
  detail: string;
  risk: 'edit' | 'execute' | 'network' | 'destructive';
  uris?: string[];
  argv?: string[];
}

export interface AssistantChunk {
  turn: number;
  step: number;
  attempt: number;
  deltas: Delta[];
}

/** `reasoningField` names the member by which the provider wants its reasoning back, if it does. */
export interface AssistantMessage {
  turn: number;
  step: number;
  text: string;
  toolCalls: ToolCall[];
  finishReason: string | null;
  usage: Usage;
  reasoning?: string;
  reasoningField?: string;
  interrupted?: boolean;
}

export interface BlockedReason {
  code: 'model-reported' | 'round-limit' | 'budget' | 'no-progress' | 'failing' | 'repetition' | 'needs-review' | 'subtask-failed' | 'queue-failed';
  message: string;
}

/** Limits of what may be spent: tokens (input and output), money, seconds, requests, steps. */
export interface Budgets {
  tokens?: number;
  cost?: number;
  seconds?: number;
  requests?: number;
  steps?: number;
}

export interface CancelTurn {
  sessionId: string;
  queue?: 'keep' | 'drop';
  expectedTurn?: number;
}

export interface Cancelled {
  cancelled: boolean;
  turn?: number;
}

export interface Changed {
  session: SessionInfo;
}

/** What a check found. `evidence` is text for people and the model. */
export interface CheckResult {
  checkId: string;
  kind: string;
  status: 'pass' | 'fail' | 'skipped' | 'timeout' | 'noTests';
  evidence: string;
}

/** Passes when the argv (no shell) exits with 0, and still does after `stableForSeconds`. */
export interface CommandCheck {
  kind: 'command';
  argv: string[];
  id?: string;
  cwd?: string;
  timeoutSeconds?: number;
  stableForSeconds?: number;
}

export interface CommandGoal {
  sessionId: string;
  text: string;
}

/** How a command ended. `durationMs` is in milliseconds. `timedOut`: it was ended at its limit. */
export interface CommandOutcome {
  exitCode: number | null;
  output: string;
  durationMs: number;
  cancelled: boolean;
  timedOut?: boolean;
}

/** Run a command (no shell) in a folder (URI). */
export interface CommandRequest {
  runId: string;
  sessionId: string | null;
  turn: number | null;
  folder: string;
  argv: string[];
  timeoutSeconds: number;
  title: string;
  callId?: string;
}

/** The outcome of a run that was accepted first. */
export interface CommandResult {
  exitCode: number | null;
  output: string;
  durationMs: number;
  cancelled: boolean;
  timedOut?: boolean;
  runId: string;
}

/** Commands that start with `argv` are allowed or denied without asking. */
export interface CommandRule {
  argv: string[];
  decision: 'allow' | 'deny';
}

/** The answer to a compaction. Tokens are those of the next request. */
export interface Compacted {
  compacted: boolean;
  tokensBefore: number;
  tokensAfter: number;
}

/** It was tried and nothing changed. `reason` is a sentence for people, `usage` what the try cost. */
export interface CompactionFailed {
  trigger: 'pressure' | 'overflow' | 'human' | 'subtask' | 'round';
  reason: string;
  usage?: Usage;
}

export interface CompleteGoal {
  sessionId: string;
  ref: GoalRef;
  accept?: boolean;
}

export interface Completed {
  kind: 'completed';
}

export interface ConfigureSession {
  sessionId: string;
  model?: string;
  mode?: 'agent' | 'plan' | 'ask';
}

/** From here on requests are built from this. The log itself stays whole. */
export interface ContextCompacted {
  throughSeq: number;
  summary: string;
  tokensBefore: number;
  tokensAfter: number;
  trigger: 'pressure' | 'overflow' | 'human' | 'subtask' | 'round';
  resultsThroughSeq: number;
  wordsLimit: number;
  usage?: Usage;
}

/** Something a person attached to a message. */
export interface ContextItem {
  uri: string;
  range?: Range;
  text?: string;
  kind?: 'selection' | 'diagnostic' | 'file';
}

export interface ContextSettings {
  compactAt?: number;
  resultLimitBytes?: number;
}

/** How full the model's window is, in tokens. */
export interface ContextView {
  usedTokens: number;
  windowTokens: number | null;
  estimated: boolean;
}

export interface CreateGoal {
  sessionId: string;
  objective: string;
  kind?: 'executing' | 'exploratory';
  workflow?: 'coding' | 'research';
  maxRounds?: number;
  budgets?: Budgets;
  checks?: (CommandCheck | TestsCheck | DiagnosticsCheck | FileCheck | JudgeCheck | UserCheck)[];
}

export interface Damage {
  seq: number;
  reason: string;
}

/** A piece of a reply as it streams in. */
export interface Delta {
  text?: string;
  reasoning?: string;
  toolCall?: ToolCallDelta;
}

export interface DiagnosticsCheck {
  kind: 'diagnostics';
  id?: string;
  uris?: string[];
  severity?: 'error' | 'warning' | 'information' | 'hint';
}

export interface EditApplied {
  changeId: string;
  callId: string;
  uri: string;
  kind: 'edit' | 'create' | 'rename' | 'delete';
  before: string;
  after: string;
  added?: number;
  removed?: number;
  newUri?: string;
}

export interface EditGoal {
  sessionId: string;
  ref: GoalRef;
  objective?: string;
  kind?: 'executing' | 'exploratory';
  maxRounds?: number;
  budgets?: Budgets;
  checks?: (CommandCheck | TestsCheck | DiagnosticsCheck | FileCheck | JudgeCheck | UserCheck)[];
}

/** Durable before an edit leaves the server, so that recovery can tell whether it was applied. */
export interface EditPlanned {
  changeId: string;
  callId: string;
  uri: string;
  kind: 'edit' | 'create' | 'rename' | 'delete';
  before: string;
  after: string;
  newUri?: string;
}

export interface ErrorReason {
  kind: 'error';
  code: string;
  message: string;
}

export interface EventPage {
  events: EventView[];
  lastSeq: number;
  hasMore: boolean;
}

/** An event on the wire. `data` is the stored JSON, byte for byte. */
export interface EventView {
  sessionId: string;
  seq: number;
  time: number;
  type: string;
  data: unknown;
  ignorable?: boolean;
}

export interface Exit {
  kind: 'exit';
  policy: string;
}

export interface ExitVerdict {
  policy: string;
  class: 'success' | 'failure' | 'safety';
  severity: 'info' | 'transient' | 'recoverable' | 'fatal' | 'human';
  action: 'continue' | 'remind' | 'ask' | 'retry' | 'replan' | 'pause' | 'block' | 'fail' | 'succeed';
  message: string;
  evidence: string;
}

export interface ExportSession {
  sessionId: string;
  format: 'jsonl' | 'markdown';
}

export interface Exported {
  text: string;
}

/** Passes when the file exists (or not) and its text matches (or does not match) a regular expression. */
export interface FileCheck {
  kind: 'file';
  path: string;
  id?: string;
  exists?: boolean;
  contains?: string;
  notContains?: string;
}

/** `atSeq`: the last event that the child has too; None: the last `turn/end`. */
export interface ForkSession {
  sessionId: string;
  atSeq?: number;
}

export interface GetGoal {
  sessionId: string;
}

/** The full snapshot that every `goal/change` carries. Times are milliseconds since the epoch. */
export interface Goal {
  id: string;
  revision: number;
  objective: string;
  kind: 'executing' | 'exploratory';
  workflow: 'coding' | 'research';
  phase: 'active' | 'paused' | 'blocked' | 'complete';
  maxRounds: number;
  budgets: Budgets;
  checks: (CommandCheck | TestsCheck | DiagnosticsCheck | FileCheck | JudgeCheck | UserCheck)[];
  roundsStarted: number;
  createdAt: number;
  updatedAt: number;
  blockedReason?: BlockedReason;
}

/** The answer to a `/goal …` text: Markdown, the goal after it, and whether it did what was asked. */
export interface GoalAnswer {
  message: string;
  goal: GoalView | null;
  ok: boolean;
}

/** A goal in the state that the caller knows. */
export interface GoalAt {
  sessionId: string;
  ref: GoalRef;
}

/** The model says that it is blocked; `consecutive` rounds in a row it gave the same `key`. */
export interface GoalBlocker {
  goalId: string;
  revision: number;
  round: number;
  key: string;
  message: string;
  consecutive: number;
}

/** `goal` is the full snapshot after the change, None after `clear`; `ref` the state it made. */
export interface GoalChanged {
  operation: 'create' | 'edit' | 'pause' | 'resume' | 'complete' | 'block' | 'clear';
  by: 'human' | 'model' | 'driver';
  ref: GoalRef;
  goal: Goal | null;
  reason?: string;
}

/** Which goal, and which state of it: a mutation names the one that it was decided on. */
export interface GoalRef {
  id: string;
  revision: number;
}

/** A round on its way into the loop. Only `admitted` uses its number up. */
export interface GoalRound {
  goalId: string;
  revision: number;
  round: number;
  status: 'queued' | 'claimed' | 'admitted' | 'stale';
  reason?: string;
}

/** `idlePauseSeconds`: the wait after the first and after each further round that changed nothing. */
export interface GoalSettings {
  maxRounds?: number;
  blockedAfterRounds?: number;
  noProgressRounds?: number;
  failingRounds?: number;
  idlePauseSeconds?: number[];
}

/** The goal driver asked, for exactly this revision and round. */
export interface GoalSource {
  kind: 'goal';
  goalId: string;
  revision: number;
  round: number;
}

/** What the harness found when it ran checks. Outside a goal `goalId` and `revision` are unset. */
export interface GoalVerification {
  phase: 'baseline' | 'claim' | 'subtask' | 'prompt';
  verdict: 'pass' | 'fail' | 'none' | 'needs-review';
  results: CheckResult[];
  goalId?: string;
  revision?: number;
  tampered?: string[];
}

/** The current goal. `activation`: whether it may move by itself now; `disarmedBy`: what stopped it. */
export interface GoalView {
  id: string;
  revision: number;
  objective: string;
  kind: 'executing' | 'exploratory';
  workflow: 'coding' | 'research';
  phase: 'active' | 'paused' | 'blocked' | 'complete';
  activation: 'armed' | 'disarmed';
  maxRounds: number;
  roundsStarted: number;
  budgets: Budgets;
  checks: (CommandCheck | TestsCheck | DiagnosticsCheck | FileCheck | JudgeCheck | UserCheck)[];
  usage: Usage;
  createdAt: number;
  updatedAt: number;
  disarmedBy?: string;
  blockedReason?: BlockedReason;
  lastVerification?: GoalVerification;
}

/** A person asked. */
export interface Human {
  kind: 'human';
}

export interface InboxClaimed {
  messageIds: string[];
  turn: number;
  step: number;
}

export interface InboxEdited {
  messageId: string;
  text: string;
}

export interface InboxHeld {
  reason: 'cancelled' | 'error' | 'exit' | 'restart';
}

export interface InboxMoved {
  messageIds: string[];
  queue: 'next-turn' | 'next-step';
}

/** `turn` is the turn that the outcome names, so that a repeated message id gets the first answer. */
export interface InboxQueued {
  messageId: string;
  queue: 'next-turn' | 'next-step';
  source: Human | GoalSource | Notice;
  text: string;
  method: 'turn/prompt' | 'turn/steer' | 'inject' | 'goal/round';
  outcome: 'started' | 'queued' | 'injected' | 'startedTurn';
  context?: ContextItem[];
  checks?: (CommandCheck | TestsCheck | DiagnosticsCheck | FileCheck | JudgeCheck | UserCheck)[];
  turn?: number;
}

export interface InboxReleased {
}

export interface InboxRemoved {
  messageId: string;
  reason: 'cancelled' | 'withdrawn' | 'stale';
}

/** Only on recovery: the process died in this turn. */
export interface Interrupted {
  kind: 'interrupted';
}

export interface JudgeCheck {
  kind: 'judge';
  question: string;
  id?: string;
}

export interface ListSessions {
  workspaceFolder?: string;
  query?: string;
  cursor?: string;
  limit?: number;
}

export interface LoopSettings {
  maxParallelTools?: number;
  maxStepsPerTurn?: number;
  toolGraceSeconds?: number;
  clientRequestTimeoutSeconds?: number;
}

export interface MaxTokens {
  kind: 'max-tokens';
}

/** `attempt` is the one that failed, from 1; `delayMs` the wait before the next. `message` says why. */
export interface ModelRetry {
  attempt: number;
  code: 'rate-limit' | 'server' | 'timeout' | 'transport' | 'empty';
  delayMs: number;
  turn?: number;
  step?: number;
  message?: string;
  usage?: Usage;
  purpose?: 'turn' | 'summary';
}

/** Where and how to ask. Sizes are tokens, times seconds. */
export interface ModelSettings {
  baseUrl?: string;
  name?: string;
  contextWindow?: number;
  maxOutputTokens?: number;
  maxTokensField?: string;
  temperature?: number;
  extraBody?: Record<string, unknown>;
  headers?: Record<string, string>;
  query?: Record<string, string>;
  proxy?: string;
  noProxy?: string;
  caFile?: string;
  prices?: Prices;
  maxRetries?: number;
  retryBaseSeconds?: number;
  retryMaxSeconds?: number;
  idleTimeoutSeconds?: number;
  totalTimeoutSeconds?: number;
  textToolCalls?: boolean;
}

export interface ModelStatus {
  name: string | null;
  baseUrl: string | null;
  configured: boolean;
}

export interface NewSession {
  workspaceFolder?: string;
  title?: string;
  model?: string;
  mode?: 'agent' | 'plan' | 'ask';
}

/** The empty result `{}`, and params without members. */
export interface Nothing {
}

/** The host tells the model something. */
export interface Notice {
  kind: 'notice';
  name: string;
}

export interface OpenSession {
  sessionId: string;
  readOnly?: boolean;
}

export interface Parent {
  sessionId: string;
  seq: number;
}

export interface PermissionSettings {
  edit?: 'allow' | 'ask';
  commands?: CommandRule[];
  approvalTimeoutSeconds?: number;
}

/** A position in the encoding that was negotiated with the client, both members from 0. */
export interface Position {
  line: number;
  character: number;
}

/** Per million tokens, in the user's currency. */
export interface Prices {
  input?: number;
  cachedInput?: number;
  output?: number;
}

export interface Prompt {
  sessionId: string;
  text: string;
  context?: ContextItem[];
  messageId?: string;
  checks?: (CommandCheck | TestsCheck | DiagnosticsCheck | FileCheck | JudgeCheck | UserCheck)[];
}

/** A question to the editor's language servers; the answer is the matching LSP value. */
export interface QueryRequest {
  kind: 'diagnostics' | 'definition' | 'references' | 'symbols' | 'hover';
  uri?: string;
  position?: Position;
  query?: string;
}

/** `answer` is None where the person closed the question, or where `by` is not `human`. */
export interface QuestionAnswered {
  questionId: string;
  answer: string | null;
  by: 'human' | 'steer' | 'timeout' | 'cancelled';
}

/** A question to the person: the model's, before its call starts, or a check's (`checkId`). */
export interface QuestionAsked {
  questionId: string;
  text: string;
  callId?: string;
  turn?: number;
  choices?: string[];
  checkId?: string;
}

/** None: the person closed the question without an answer. */
export interface QuestionReply {
  answer: string | null;
}

/** A question of the model to the person. */
export interface QuestionRequest {
  questionId: string;
  sessionId: string;
  turn: number | null;
  text: string;
  choices?: string[];
}

export interface QueueView {
  nextTurn: QueuedMessage[];
  nextStep: QueuedMessage[];
  held: 'cancelled' | 'error' | 'exit' | 'restart' | null;
}

/** A waiting message as clients see it. `queuedAt` is in milliseconds since the epoch. */
export interface QueuedMessage {
  messageId: string;
  text: string;
  source: Human | GoalSource | Notice;
  queuedAt: number;
}

export interface Range {
  start: Position;
  end: Position;
}

export interface ReadEvents {
  sessionId: string;
  afterSeq?: number;
  limit?: number;
}

export interface Released {
  released: number;
}

export interface RemoveMessage {
  sessionId: string;
  messageId: string;
}

export interface Removed {
  removed: boolean;
}

export interface RenameSession {
  sessionId: string;
  title: string;
}

/** `throughSeq`: the last event that is kept. */
export interface RepairSession {
  sessionId: string;
  throughSeq: number;
}

/** The stable part of a request. `params` are provider members, sent as they stand. */
export interface RequestHeader {
  turn: number;
  step: number;
  model: string;
  params: Record<string, unknown>;
  system: string;
  tools: ToolSpec[];
}

/** The run has begun; its result will be told by a notification. */
export interface Running {
  accepted?: true;
}

export interface SaveRequest {
  uris: string[];
}

export interface Saved {
  saved: string[];
}

/** A part of a test suite: paths relative to the folder, and test ids of the runner. */
export interface Selection {
  files: string[];
  tests: string[];
}

export interface SessionConfigured {
  title?: string;
  model?: string;
  mode?: 'agent' | 'plan' | 'ask';
}

export interface SessionCreated {
  formatVersion: number;
  workspaceFolder: string | null;
  title: string;
  parent?: Parent;
}

/** A session as clients see it. Times are milliseconds since the epoch. */
export interface SessionInfo {
  sessionId: string;
  title: string;
  workspaceFolder: string | null;
  createdAt: number;
  updatedAt: number;
  lastSeq: number;
  state: 'idle' | 'running' | 'maintenance';
  waitingOn: 'model' | 'tool' | 'approval' | 'question' | 'retry' | 'pause' | null;
  turn: number | null;
  step: number | null;
  queue: QueueView;
  goal: GoalView | null;
  task: 'IDLE' | 'IN_PROGRESS' | 'WAITING_FOR_USER' | 'SUB_TASK_FAILED' | 'PAUSED' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
  plan: unknown;
  model: string | null;
  mode: 'agent' | 'plan' | 'ask';
  usage: Usage;
  context: ContextView;
  readOnly: boolean;
  damaged?: Damage;
  parent?: Parent;
}

export interface SessionList {
  sessions: SessionInfo[];
  nextCursor?: string;
}

export interface SessionOnly {
  sessionId: string;
}

export interface SessionOpened {
  reason: 'new' | 'resume' | 'fork' | 'repair';
  server: string;
}

export interface SetCredentials {
  apiKey: string;
}

/** All of them. What later features add is read where the feature is. */
export interface Settings {
  stateDir?: string;
  trusted?: boolean;
  scriptedModel?: string;
  model?: ModelSettings;
  loop?: LoopSettings;
  goal?: GoalSettings;
  context?: ContextSettings;
  permissions?: PermissionSettings;
  tests?: TestSettings;
}

export interface Status {
  version: string;
  protocolVersion: number;
  model: ModelStatus;
  stateDir: string;
  sessions: number;
}

export interface Steer {
  sessionId: string;
  text: string;
  context?: ContextItem[];
  messageId?: string;
  expectedTurn?: number;
}

export interface StepEnd {
  turn: number;
  step: number;
  usage: Usage;
}

export interface StepStart {
  turn: number;
  step: number;
}

export interface TaskChanged {
  from: 'IDLE' | 'IN_PROGRESS' | 'WAITING_FOR_USER' | 'SUB_TASK_FAILED' | 'PAUSED' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
  to: 'IDLE' | 'IN_PROGRESS' | 'WAITING_FOR_USER' | 'SUB_TASK_FAILED' | 'PAUSED' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
  cause: string;
}

/** One test. `durationMs` is in milliseconds, `line` counts from 1. */
export interface TestCase {
  id: string;
  outcome: 'passed' | 'failed' | 'error' | 'skipped';
  durationMs?: number;
  message?: string;
  uri?: string;
  line?: number;
}

export interface TestCounts {
  collected: number;
  passed: number;
  failed: number;
  errors: number;
  skipped: number;
}

/** Protocol.md section 4. The exit code wins over parsed counts; failures come first, capped. */
export interface TestReceipt {
  runId: string;
  status: 'passed' | 'failed' | 'error' | 'cancelled' | 'timeout' | 'noTests';
  exitCode: number | null;
  counts: TestCounts;
  tests: TestCase[];
  output: string;
  argv: string[];
  folder: string;
  durationMs: number;
  runner: 'editor' | 'server';
  contentHash?: string;
}

export interface TestSettings {
  command?: string[];
  timeoutSeconds?: number;
}

/** Passes when the test command collects at least one test and all pass. */
export interface TestsCheck {
  kind: 'tests';
  id?: string;
  argv?: string[];
  selection?: Selection;
}

/** A test that has ended, or a piece of output, while a run goes on. */
export interface TestsProgress {
  runId: string;
  test?: string;
  outcome?: 'passed' | 'failed' | 'error' | 'skipped';
  output?: string;
}

/** A receipt as an event: the receipt's own members. */
export interface TestsReceipt {
  runId: string;
  status: 'passed' | 'failed' | 'error' | 'cancelled' | 'timeout' | 'noTests';
  exitCode: number | null;
  counts: TestCounts;
  tests: TestCase[];
  output: string;
  argv: string[];
  folder: string;
  durationMs: number;
  runner: 'editor' | 'server';
  contentHash?: string;
}

/** Run tests in a folder (URI). Without `argv` as the editor's own settings say. */
export interface TestsRequest {
  runId: string;
  sessionId: string | null;
  turn: number | null;
  folder: string;
  timeoutSeconds: number;
  reason: 'tool' | 'check' | 'baseline';
  callId?: string;
  argv?: string[];
  selection?: Selection;
}

/** A call as the model wrote it. `arguments` is the raw string, valid JSON or not. */
export interface ToolCall {
  callId: string;
  name: string;
  arguments: string;
}

/** A piece of a call. Pieces with the same `index` belong together. */
export interface ToolCallDelta {
  index: number;
  id?: string;
  name?: string;
  arguments?: string;
}

export interface ToolCalled {
  turn: number;
  step: number;
  callId: string;
  name: string;
  arguments: string;
  mode: 'exclusive' | 'parallel';
}

/** Why a call failed; `code` is one of protocol.md section 5. */
export interface ToolError {
  code: string;
  message: string;
}

/** `content` is the text that the model sees. `durationMs` is in milliseconds. */
export interface ToolResult {
  turn: number;
  step: number;
  callId: string;
  outcome: 'ok' | 'error' | 'denied' | 'timeout' | 'aborted' | 'aborted-before-dispatch' | 'not-started' | 'unknown';
  content: string;
  error?: ToolError;
  verified?: Verified;
  durationMs?: number;
  seen?: Record<string, string>;
}

/** A tool as the model is offered it. `parameters` is a JSON schema. */
export interface ToolSpec {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

export interface ToolStart {
  turn: number;
  step: number;
  callId: string;
}

export interface Trust {
  trusted: boolean;
}

export interface TurnEnd {
  turn: number;
  reason: Completed | AbortedReason | ErrorReason | MaxTokens | Exit | Interrupted;
}

export interface TurnStart {
  turn: number;
  trigger: 'human' | 'goal';
}

export interface UpdateMessage {
  sessionId: string;
  messageId: string;
  text: string;
}

export interface Updated {
  updated: boolean;
}

/** Sums over requests, also judges, summaries and retries. */
export interface Usage {
  requests: number;
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  estimated: boolean;
  cost?: number;
  seconds: number;
}

export interface UserCheck {
  kind: 'user';
  id?: string;
}

export interface UserMessage {
  turn: number;
  step: number;
  messageId: string;
  source: Human | GoalSource | Notice;
  text: string;
  context?: ContextItem[];
}

/** How a tool verified its own action. */
export interface Verified {
  ok: boolean;
  check: string;
  note: string;
}

/** An approval, a question or a run that no longer matters. */
export interface Withdrawn {
  id: string;
}
