// The grammar of `/goal` as far as the page helps with it. Pure; what a text means is the server's decision.
import type { GoalView } from '../src/lsp/protocol';

/** What can be put in place of the text from `from` up to the caret. */
export interface Completion {
  readonly label: string;
  readonly detail: string;
  readonly from: number;
  readonly insert: string;
}

export function isGoalCommand(text: string): boolean {
  return /^\s*\/goal(?=\s|$)/.test(text);
}

const VERBS = [
  { word: 'edit', detail: 'change the objective', needs: 'goal', more: true },
  { word: 'pause', detail: 'no further round starts', needs: 'goal', more: false },
  { word: 'resume', detail: 'arms it: rounds go on', needs: 'goal', more: false },
  { word: 'clear', detail: 'forget the goal', needs: 'goal', more: false },
] as const;

const OPTIONS = [
  { word: '--check ""', detail: 'a command that proves it, such as "pytest -q"' },
  { word: '--rounds ', detail: 'rounds at most' },
  { word: '--tokens ', detail: 'tokens at most' },
  { word: '--minutes ', detail: 'minutes at most' },
  { word: '--cost ', detail: 'money at most' },
  { word: '--exploratory', detail: 'looking around is the work' },
] as const;

/** What may come where the caret stands; nothing where a person is writing an objective. */
export function completions(text: string, caret: number, goal: GoalView | null): Completion[] {
  const before = text.slice(0, caret);
  if (text.slice(caret).trim() !== '') return [];
  if (/^\/g?o?a?l?$/.test(before)) return commands(goal);
  const verb = /^\/goal\s+(\S*)$/.exec(before);
  if (verb && !verb[1]?.startsWith('-')) return verbs(verb[1] ?? '', caret, goal);
  const option = /^\/goal\s.*\s(--?\w*)$/s.exec(before);
  return option ? options(option[1] ?? '', caret, before) : [];
}

function commands(goal: GoalView | null): Completion[] {
  const open = goal !== null && goal.phase !== 'complete';
  const create = {
    label: '/goal …',
    detail: 'set a goal: it goes on in rounds until its checks pass',
    from: 0,
    insert: '/goal ',
  };
  const show = { label: '/goal', detail: 'show the goal', from: 0, insert: '/goal' };
  const all = VERBS.map(({ word, detail, more }) => ({
    label: `/goal ${word}`,
    detail,
    from: 0,
    insert: `/goal ${word}${more ? ' ' : ''}`,
  }));
  return open ? [show, ...all] : [create];
}

function verbs(begun: string, caret: number, goal: GoalView | null): Completion[] {
  if (!goal) return [];
  return VERBS.filter(({ word }) => word.startsWith(begun.toLowerCase()) && word !== begun).map(
    ({ word, detail, more }) => ({
      label: word,
      detail,
      from: caret - begun.length,
      insert: more ? `${word} ` : word,
    }),
  );
}

function options(begun: string, caret: number, before: string): Completion[] {
  return OPTIONS.filter(({ word }) => word.startsWith(begun) && word !== begun)
    .filter(({ word }) => word.startsWith('--check') || !before.includes(word.trim()))
    .map(({ word, detail }) => ({ label: word.trim(), detail, from: caret - begun.length, insert: word }));
}
