// A card of a tool call: what it does, how it stands, and on demand what went in and came out.
import { seconds } from '../../src/session/words';
import type { Change, ToolItem, ToolState } from '../../src/session/items';
import { button, el, foldable } from '../dom';
import { icon, type IconName } from '../icons';
import { askedFor, shortened } from './askedFor';
import { nameOf, type ItemContext } from './context';

const STATES: Record<ToolState, { icon: IconName; words: string; look: string }> = {
  called: { icon: 'dot', words: 'waits its turn', look: 'waiting' },
  asked: { icon: 'bell', words: 'waits for you', look: 'asked' },
  waiting: { icon: 'dot', words: 'waits its turn', look: 'waiting' },
  running: { icon: 'clock', words: 'running', look: 'running' },
  ok: { icon: 'check', words: '', look: 'ok' },
  error: { icon: 'cross', words: 'error', look: 'bad' },
  denied: { icon: 'ban', words: 'denied', look: 'warning' },
  timeout: { icon: 'clock', words: 'took too long', look: 'bad' },
  aborted: { icon: 'stop', words: 'stopped', look: 'warning' },
  notRun: { icon: 'ban', words: 'not run', look: 'quiet' },
  unknown: { icon: 'question', words: 'outcome unknown', look: 'warning' },
};

export function toolBody(item: ToolItem, context: ItemContext): Node[] {
  const state = STATES[item.state];
  const head = [
    picture(item.state),
    el('span', { class: 'tool-name' }, wordsOf(item.name)),
    el('code', { class: 'tool-line' }, item.line),
    el('span', { class: 'tool-state' }, stateWords(item)),
  ];
  const card = foldable(head, () => inside(item), context.fold(`tool ${item.callId}`));
  card.className = `card tool ${state.look}`;
  return [card, ...notes(item, context)];
}

function picture(state: ToolState): Node {
  const { icon: name, words } = STATES[state];
  const shown = icon(name);
  return el('span', { class: 'tool-icon' }, shown, el('span', { class: 'sr-only' }, words || 'done'));
}

function stateWords({ state, durationMs }: ToolItem): string {
  const { words } = STATES[state];
  const time = durationMs !== undefined && durationMs >= 100 ? seconds(durationMs) : '';
  return [words, time].filter(Boolean).join(' · ');
}

/** What one must not miss stands under the card, folded or not. */
function notes(item: ToolItem, context: ItemContext): Node[] {
  const { error, verified, approval, changes } = item;
  const lines: Node[] = changes.map((change) => changeLine(change, context));
  if (approval?.words !== undefined) {
    lines.push(note('quiet', approval.words + (approval.feedback ? `: “${approval.feedback}”` : '')));
  }
  if (error && item.state !== 'denied') lines.push(note('bad', `${error.code}: ${firstLine(error.message)}`));
  if (verified && !verified.ok) lines.push(note('warning', `Not verified: ${verified.note}`));
  return lines;
}

function note(tone: string, words: string): HTMLElement {
  return el('div', { class: `note ${tone}` }, words);
}

const CHANGED = { edit: 'Changed', create: 'Created', rename: 'Renamed to', delete: 'Deleted' } as const;

function changeLine({ uri, what, added, removed }: Change, context: ItemContext): HTMLElement {
  const name = nameOf(uri);
  const file =
    what === 'delete'
      ? el('span', {}, name)
      : button(
          name,
          () => {
            context.openFile(uri);
          },
          { class: 'link' },
        );
  const verb = (CHANGED as Record<string, string | undefined>)[what] ?? 'Changed';
  return el(
    'div',
    { class: 'note change' },
    `${verb} `,
    file,
    el('span', { class: 'added' }, ` +${added}`),
    el('span', { class: 'removed' }, ` −${removed}`),
  );
}

function inside({ name, arguments: written, output, verified, error }: ToolItem): Node {
  const parts = el('div', { class: 'inside' }, el('h4', {}, 'Asked for'), askedFor(name, written));
  const text = output || (error?.message ?? '');
  if (text) parts.append(el('h4', {}, 'Result'), el('pre', { class: 'output' }, shortened(text)));
  if (verified?.note) parts.append(el('h4', {}, verified.ok ? 'Verified' : 'Not verified'), el('p', {}, verified.note));
  return parts;
}

function firstLine(text: string): string {
  const [line = ''] = text.split('\n', 1);
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

function wordsOf(name: string): string {
  return name.replaceAll('_', ' ');
}
