// Events in plain words for the person. Pure; the words of others are only quoted.
import type {
  ApprovalDecided,
  ExitVerdict,
  GoalChanged,
  GoalVerification,
  InboxHeld,
  ModelRetry,
  QuestionAnswered,
  TurnEnd,
} from '../lsp/protocol';
import type { EndItem, Tone } from './items';
import { shortened } from './toolLine';

interface Told {
  words: string;
  tone: Tone;
}

const WHO = { human: 'You', model: 'The agent', driver: 'Steersman' } as const;

export function goalWords({ operation, by, goal, reason }: GoalChanged): Told {
  const who = (WHO as Record<string, string | undefined>)[by] ?? by;
  const why = reason ? ` – ${reason}` : '';
  const objective = goal ? `: ${shortened(goal.objective)}` : '';
  switch (operation) {
    case 'create':
      return { words: `${who} set a goal${objective}`, tone: 'good' };
    case 'edit':
      return { words: `${who} changed the goal${objective}${why}`, tone: 'quiet' };
    case 'pause':
      return { words: `${who} paused the goal${why}`, tone: 'warning' };
    case 'resume':
      return { words: `${who} resumed the goal: it is armed${why}`, tone: 'quiet' };
    case 'complete':
      return { words: `The goal is complete${by === 'human' ? ': you ended it' : ''}${why}`, tone: 'good' };
    case 'block':
      return {
        words: `The goal is blocked: ${goal?.blockedReason?.message ?? reason ?? 'no reason was given'}`,
        tone: 'bad',
      };
    case 'clear':
      return { words: `${who} cleared the goal${why}`, tone: 'quiet' };
    default:
      return { words: `The goal changed (${String(operation)})${why}`, tone: 'quiet' };
  }
}

const PHASES = {
  baseline: 'Checks before the first round',
  claim: 'Checks of the goal',
  subtask: 'Checks of the subtask',
  prompt: 'Checks of the prompt',
} as const;

export function verificationWords({ phase, verdict, results, tampered }: GoalVerification): Told {
  const title = (PHASES as Record<string, string | undefined>)[phase] ?? 'Checks';
  const passed = results.filter(({ status }) => status === 'pass').length;
  const count = results.length === 0 ? '' : ` (${passed} of ${results.length} pass)`;
  switch (verdict) {
    case 'pass':
      return { words: `${title}: passed${count}`, tone: 'good' };
    case 'fail':
      return { words: `${title}: not passed${count}`, tone: phase === 'baseline' ? 'quiet' : 'bad' };
    case 'needs-review':
      return {
        words: `${title}: a person must look${(tampered?.length ?? 0) > 0 ? ', tests were changed' : ''}`,
        tone: 'warning',
      };
    case 'none':
      return { words: `${title}: nothing was verified`, tone: 'warning' };
    default:
      return { words: `${title}: ${String(verdict)}${count}`, tone: 'quiet' };
  }
}

export function verdictWords({ action, message, severity }: ExitVerdict): Told {
  const words = shortened(message, 400);
  if (action === 'continue') return { words, tone: 'quiet' };
  if (action === 'succeed') return { words, tone: 'good' };
  return { words, tone: severity === 'fatal' || action === 'block' || action === 'fail' ? 'bad' : 'warning' };
}

export function endWords({ reason }: TurnEnd): Told {
  switch (reason.kind) {
    case 'completed':
      return { words: 'Done', tone: 'quiet' };
    case 'aborted':
      if (reason.by === 'human') return { words: 'Stopped by you', tone: 'warning' };
      if (reason.by === 'trust') return { words: 'Stopped: the folder is not trusted any more', tone: 'warning' };
      return { words: 'Stopped: the server was shut down', tone: 'warning' };
    case 'error':
      return { words: `Ended in an error: ${reason.message} (${reason.code})`, tone: 'bad' };
    case 'max-tokens':
      return { words: "Ended: the model's limit for one reply was reached", tone: 'bad' };
    case 'exit':
      return { words: `Ended by the rule “${reason.policy}”`, tone: 'warning' };
    case 'interrupted':
      return { words: 'Interrupted: the server had stopped. Nothing of it is run again', tone: 'warning' };
    default:
      return { words: `Ended (${String((reason as { kind?: unknown }).kind)})`, tone: 'quiet' };
  }
}

/** What helps against an end, by the code of its error; nothing where only the provider or time can. */
export function remedyOf({ reason }: TurnEnd): Pick<EndItem, 'remedy'> {
  if (reason.kind !== 'error') return {};
  if (reason.code === 'auth') return { remedy: 'setKey' };
  return reason.code === 'not-found' || reason.code === 'bad-request' ? { remedy: 'setModel' } : {};
}

const RETRY_CODES = {
  'rate-limit': 'The provider asks to go slower',
  server: 'The provider has a problem',
  timeout: 'The model did not answer in time',
  transport: 'The connection to the model broke',
  empty: 'The model gave an empty answer',
} as const;

export function retryWords({ code, delayMs, message }: ModelRetry): string {
  const what = (RETRY_CODES as Record<string, string | undefined>)[code] ?? code;
  return `${what}. Next try after ${seconds(delayMs)}${message ? ` – ${shortened(message, 200)}` : ''}`;
}

export function decisionWords({ decision, by }: ApprovalDecided): string {
  if (by === 'timeout') return 'Denied: nobody answered in time';
  if (by === 'cancelled') return 'Withdrawn';
  const who = by === 'rule' ? 'by a rule' : 'by you';
  if (decision === 'allowOnce') return `Allowed ${who}`;
  if (decision === 'allowSession') return `Allowed ${who} for this session`;
  return `Denied ${who}`;
}

export function unansweredWords(by: QuestionAnswered['by']): string {
  switch (by) {
    case 'timeout':
      return 'Nobody answered in time';
    case 'cancelled':
      return 'Withdrawn';
    case 'steer':
      return 'You wrote something else instead';
    default:
      return 'Closed without an answer';
  }
}

export function heldWords(reason: InboxHeld['reason']): string {
  switch (reason) {
    case 'cancelled':
      return 'you pressed Stop';
    case 'error':
      return 'the turn ended in an error';
    case 'exit':
      return 'the turn was ended by a rule';
    case 'restart':
      return 'the server was started again';
    default:
      return String(reason);
  }
}

/** A length of time for people. */
export function seconds(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(milliseconds < 10_000 ? 1 : 0)} s`;
  const whole = Math.round(milliseconds / 1_000);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return whole % 60 === 0 ? `${minutes} min` : `${minutes} min ${whole % 60} s`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
