// The line that says what the agent does now, and the foot: model, context, tokens, cost.
import type { SessionInfo } from '../../src/lsp/protocol';
import { el, setText, show } from '../dom';
import { amount } from './numbers';

const WAITS: Record<NonNullable<SessionInfo['waitingOn']>, string> = {
  model: 'waiting for the model',
  tool: 'running tools',
  approval: 'waiting for your decision',
  question: 'waiting for your answer',
  retry: 'waiting to try again',
  pause: 'a short pause before the next round',
};

export function activityWords({ state, waitingOn, turn, step }: SessionInfo): string {
  const waits = waitingOn === null ? undefined : (WAITS as Record<string, string | undefined>)[waitingOn];
  if (state === 'maintenance') return 'Tidying up';
  if (state === 'idle') return waitingOn === 'pause' ? 'A short pause before the next round' : '';
  const where = step === null ? `turn ${turn ?? ''}` : `turn ${turn ?? ''}, step ${step}`;
  return `At work: ${waits ?? 'thinking'} · ${where.trim()}`;
}

export class Activity {
  readonly element = el('div', { class: 'activity', role: 'status' });
  private readonly words = el('span');

  constructor() {
    this.element.append(el('span', { class: 'pulse', 'aria-hidden': 'true' }), this.words);
  }

  update(session: SessionInfo | undefined): void {
    const words = session ? activityWords(session) : '';
    setText(this.words, words);
    show(this.element, words !== '');
    const needsYou = session?.waitingOn === 'approval' || session?.waitingOn === 'question';
    this.element.classList.toggle('needs-you', needsYou);
  }
}

export class Footer {
  readonly element = el('footer', { class: 'footer' });
  private readonly model = el('span', { class: 'model' });
  private readonly context = el('span');
  private readonly tokens = el('span');
  private readonly cost = el('span');

  constructor() {
    this.element.append(this.model, this.context, this.tokens, this.cost);
  }

  update(session: SessionInfo | undefined, model: string | null | undefined): void {
    setText(this.model, [session?.model ?? model ?? 'no model', modeWords(session)].filter(Boolean).join(' · '));
    setText(this.context, session ? contextWords(session) : '');
    setText(this.tokens, session ? tokenWords(session) : '');
    setText(this.cost, session?.usage.cost === undefined ? '' : `cost ${session.usage.cost.toFixed(2)}`);
    this.context.title = session ? contextTitle(session) : '';
    this.tokens.title = session
      ? `${session.usage.requests} requests, ${amount(session.usage.cachedInputTokens)} tokens cached`
      : '';
  }
}

function modeWords(session: SessionInfo | undefined): string {
  return session && session.mode !== 'agent' ? session.mode : '';
}

function contextWords({ context: { usedTokens, windowTokens } }: SessionInfo): string {
  if (usedTokens === 0) return '';
  return windowTokens === null
    ? `context ${amount(usedTokens)}`
    : `context ${Math.round((100 * usedTokens) / windowTokens)} %`;
}

function contextTitle({ context: { usedTokens, windowTokens, estimated } }: SessionInfo): string {
  const about = estimated ? 'about ' : '';
  return `${about}${usedTokens} tokens of ${windowTokens ?? 'an unknown window'} are used`;
}

function tokenWords({ usage: { inputTokens, outputTokens, estimated } }: SessionInfo): string {
  if (inputTokens + outputTokens === 0) return '';
  return `${estimated ? '≈ ' : ''}${amount(inputTokens)} in, ${amount(outputTokens)} out`;
}
