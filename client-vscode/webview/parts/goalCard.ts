// The goal: how it stands and whether it moves, what it may still use, what was proved, and what a person may do now.
import type { Budgets, GoalView } from '../../src/lsp/protocol';
import type { GoalVerb } from '../../src/session/values';
import { seconds, verificationWords } from '../../src/session/words';
import { button, el, foldable, show } from '../dom';
import type { Host } from '../host';
import { icon } from '../icons';
import { resultLine } from '../items/records';
import { amount } from './numbers';

export class GoalCard {
  readonly element = el('section', { class: 'goal', 'aria-label': 'Goal' });
  private drawn = '';
  private goal: GoalView | undefined;
  private isWritable = false;
  private isOpen = true;
  private isSaving = false;
  private mode: 'shown' | 'editing' | 'clearing' = 'shown';

  constructor(private readonly host: Host) {
    show(this.element, false);
  }

  update(goal: GoalView | null | undefined, isWritable: boolean): void {
    const key = JSON.stringify([goal, isWritable]);
    if (key === this.drawn) return;
    const isOther = this.goal?.id !== goal?.id;
    this.drawn = key;
    this.goal = goal ?? undefined;
    this.isWritable = isWritable;
    if (isOther || !isWritable) this.mode = 'shown';
    if (this.mode !== 'editing') this.draw();
  }

  private draw(): void {
    const { goal } = this;
    show(this.element, goal !== undefined);
    if (!goal) {
      this.element.replaceChildren();
      return;
    }
    const focused = focusedButton(this.element);
    const card = foldable(headOf(goal), () => el('div', { class: 'goal-body' }, ...this.body(goal)), {
      isOpen: this.isOpen,
      toggled: (isOpen) => {
        this.isOpen = isOpen;
      },
    });
    this.element.className = `goal ${goal.phase} ${goal.activation}`;
    this.element.replaceChildren(card);
    if (focused !== undefined) this.focus(focused);
  }

  private body(goal: GoalView): Node[] {
    const objective = this.mode === 'editing' ? this.editor(goal) : el('p', { class: 'objective' }, goal.objective);
    return [objective, ...whyOf(goal), ...budgetsOf(goal), ...proofOf(goal), this.buttons(goal)];
  }

  private buttons(goal: GoalView): HTMLElement {
    if (this.mode === 'editing') return el('div');
    if (this.mode === 'clearing') {
      return el(
        'div',
        { class: 'buttons', role: 'group', 'aria-label': 'Clear the goal?' },
        el('span', {}, 'Clear it? What was changed in the files stays.'),
        this.act('Clear', 'clear', 'Forget the goal'),
        this.switch('Keep', 'shown'),
      );
    }
    const buttons = verbsFor(goal).map(([label, verb, title]) => this.act(label, verb, title));
    if (goal.phase !== 'complete') buttons.push(this.switch('Edit', 'editing'));
    buttons.push(this.switch('Clear…', 'clearing'));
    for (const each of buttons) each.disabled = !this.isWritable;
    return el('div', { class: 'buttons' }, ...buttons);
  }

  private act(label: string, verb: GoalVerb, title: string): HTMLButtonElement {
    return button(
      label,
      () => {
        this.mode = 'shown';
        this.host.post({ type: 'goal', verb });
        this.draw();
      },
      { title, class: verb === 'resume' ? 'primary' : '' },
    );
  }

  private switch(label: string, mode: typeof this.mode): HTMLButtonElement {
    return button(label, () => {
      this.mode = mode;
      this.draw();
      if (mode === 'editing') this.element.querySelector('textarea')?.focus();
      else this.focus(mode === 'clearing' ? 'Keep' : 'Clear…');
    });
  }

  private editor({ objective }: GoalView): HTMLElement {
    const field = el('textarea', { 'aria-label': 'Objective' });
    this.isSaving = false;
    field.value = objective;
    field.rows = Math.min(8, objective.split('\n').length + 1);
    const end = (isSaved: boolean) => {
      const text = field.value.trim();
      if (!isSaved || text === '' || text === objective) {
        this.leaveEditor();
        return;
      }
      if (this.isSaving) return;
      this.isSaving = true;
      this.host.post({ type: 'send', send: 0, how: 'goal', text: `/goal edit ${text}`, context: [] });
    };
    field.addEventListener('keydown', (event) => {
      if (event.isComposing || (event.key !== 'Escape' && (event.key !== 'Enter' || event.shiftKey))) return;
      event.preventDefault();
      end(event.key === 'Enter');
    });
    const save = button(
      'Save',
      () => {
        end(true);
      },
      { class: 'primary' },
    );
    const leave = button('Leave it', () => {
      end(false);
    });
    return el('div', { class: 'goal-editor' }, field, el('div', { class: 'buttons' }, save, leave));
  }

  /** What became of the objective that was changed. What was refused stays to be changed again. */
  saved(isTaken: boolean): void {
    this.isSaving = false;
    if (isTaken && this.mode === 'editing') this.leaveEditor();
  }

  private leaveEditor(): void {
    this.isSaving = false;
    this.mode = 'shown';
    this.draw();
    this.focus('Edit');
  }

  private focus(label: string): void {
    for (const each of this.element.querySelectorAll('button')) if (each.textContent === label) each.focus();
  }
}

/** What a person may do in this state, by protocol.md: label, verb, and what it means. */
export function verbsFor({ phase, activation, checks }: GoalView): [string, GoalVerb, string][] {
  const verbs: [string, GoalVerb, string][] = [];
  if (phase === 'active') verbs.push(['Pause', 'pause', 'No further round starts']);
  const rests = phase === 'paused' || phase === 'blocked' || (phase === 'active' && activation === 'disarmed');
  if (rests) verbs.push(['Resume', 'resume', 'Arms it: rounds go on by themselves']);
  if (phase === 'blocked' || (phase === 'paused' && checks.length > 0)) {
    verbs.push(['Accept', 'accept', 'It is done, whatever its checks say. The record says that you decided it.']);
  }
  return verbs;
}

function headOf({ phase, activation, roundsStarted, maxRounds }: GoalView): Node[] {
  const moves = phase === 'complete' ? [] : [el('span', { class: `badge ${activation}` }, activation)];
  return [
    icon('target'),
    el('strong', {}, 'Goal'),
    el('span', { class: `badge ${phase}` }, phase),
    ...moves,
    el('span', { class: 'rounds' }, `round ${roundsStarted}/${maxRounds}`),
  ];
}

/** Why it does not move, in the server's words. */
function whyOf({ phase, disarmedBy, blockedReason }: GoalView): Node[] {
  if (phase === 'complete') return [];
  if (blockedReason) {
    return [el('p', { class: 'why bad' }, `Blocked (${blockedReason.code}): ${blockedReason.message}`)];
  }
  return disarmedBy ? [el('p', { class: 'why' }, `Disarmed: ${disarmedBy}`)] : [];
}

function budgetsOf({ budgets, usage }: GoalView): Node[] {
  const used: Partial<Record<keyof Budgets, number>> = {
    tokens: usage.inputTokens + usage.outputTokens,
    cost: usage.cost ?? 0,
    seconds: usage.seconds,
    requests: usage.requests,
  };
  const bars = (['tokens', 'cost', 'seconds', 'requests', 'steps'] as const).flatMap((name) => {
    const limit = budgets[name];
    return limit === undefined ? [] : [bar(name, used[name], limit)];
  });
  return bars.length === 0 ? [] : [el('div', { class: 'budgets' }, ...bars)];
}

function bar(name: keyof Budgets, used: number | undefined, limit: number): HTMLElement {
  const told = (value: number) => (name === 'seconds' ? seconds(value * 1_000) : amount(value));
  const words = used === undefined ? `at most ${told(limit)}` : `${told(used)} of ${told(limit)}`;
  const share = used === undefined ? 0 : Math.min(1, used / limit);
  const track = el('progress', { 'aria-label': `${name}: ${words}` });
  track.max = 1;
  track.value = share;
  track.className = share >= 0.8 ? 'scarce' : '';
  return el('div', { class: 'budget' }, el('span', {}, name), track, el('span', { class: 'dim' }, words));
}

function proofOf({ lastVerification, checks }: GoalView): Node[] {
  if (!lastVerification) {
    const words = checks.length === 0 ? 'No checks: nothing will prove it.' : `${checks.length} checks, not run yet`;
    return [el('p', { class: 'dim' }, words.replace(/^1 checks/, '1 check'))];
  }
  const { words, tone } = verificationWords(lastVerification);
  const tampered = lastVerification.tampered ?? [];
  return [
    el(
      'div',
      { class: 'proof' },
      el('div', { class: `line ${tone}` }, words),
      ...lastVerification.results.map(resultLine),
      ...tampered.map((uri) => el('div', { class: 'note warning' }, `Changed since the start: ${uri}`)),
    ),
  ];
}

function focusedButton(element: HTMLElement): string | undefined {
  const { activeElement } = document;
  return activeElement instanceof HTMLButtonElement && element.contains(activeElement)
    ? activeElement.textContent
    : undefined;
}
