// The short records between the words: questions, retries, test runs, checks, lines, and how a turn ended.
import { seconds } from '../../src/session/words';
import type {
  EndItem,
  LineItem,
  QuestionItem,
  ReceiptItem,
  RetryItem,
  Tone,
  VerificationItem,
} from '../../src/session/items';
import type { CheckResult, TestCase } from '../../src/lsp/protocol';
import { button, el, foldable } from '../dom';
import { icon, type IconName } from '../icons';
import { markdown } from '../markdown';
import { nameOf, type ItemContext } from './context';

const PICTURES: Record<Tone, IconName> = { quiet: 'dot', good: 'check', warning: 'bell', bad: 'cross' };

export function questionBody({ text, state, answer }: QuestionItem, context: ItemContext): Node[] {
  const words = el('div', { class: 'markdown' }, markdown(text, context.openLink));
  const below = state === 'open' ? 'Waits for your answer' : answer;
  return [
    el('div', { class: 'question-text' }, icon('question'), words),
    el('div', { class: state === 'answered' ? 'answer' : 'dim' }, below),
  ];
}

export function retryBody({ words, tries }: RetryItem): Node[] {
  return [icon('clock'), el('span', {}, tries > 1 ? `${words} (try ${tries})` : words)];
}

const STATUS: Record<ReceiptItem['status'], { words: string; tone: Tone }> = {
  passed: { words: 'Tests passed', tone: 'good' },
  failed: { words: 'Tests failed', tone: 'bad' },
  error: { words: 'The test run broke', tone: 'bad' },
  cancelled: { words: 'The test run was stopped', tone: 'warning' },
  timeout: { words: 'The test run took too long', tone: 'bad' },
  noTests: { words: 'No tests were found', tone: 'warning' },
};
const FAILING_SHOWN = 20;

export function receiptBody(item: ReceiptItem, context: ItemContext): Node[] {
  const { words, tone } = (STATUS as Partial<typeof STATUS>)[item.status] ?? { words: item.status, tone: 'quiet' };
  const head = [
    icon(PICTURES[tone]),
    el('span', { class: 'tool-name' }, words),
    el('span', { class: 'tool-line' }, countsOf(item)),
    el('span', { class: 'tool-state' }, seconds(item.durationMs)),
  ];
  const output = () =>
    el(
      'div',
      { class: 'inside' },
      el('pre', { class: 'output' }, item.command),
      el('pre', { class: 'output' }, item.output),
    );
  const card = foldable(head, output, context.fold(`receipt ${item.seq}`));
  card.className = `card receipt ${tone}`;
  const failing = item.failing.slice(0, FAILING_SHOWN).map((test) => failingLine(test, context));
  const more = item.failing.length - failing.length;
  if (more > 0) failing.push(el('div', { class: 'note quiet' }, `and ${more} more`));
  return [card, ...failing];
}

function countsOf({ counts }: ReceiptItem): string {
  const { passed, failed, errors, skipped } = counts;
  const parts = [
    [passed, 'passed'],
    [failed, 'failed'],
    [errors, errors === 1 ? 'error' : 'errors'],
    [skipped, 'skipped'],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${what}`)
    .join(', ');
}

function failingLine({ id, message, uri, line }: TestCase, context: ItemContext): HTMLElement {
  const name =
    uri === undefined
      ? el('code', {}, id)
      : button(
          id,
          () => {
            context.openFile(uri, line);
          },
          { class: 'link code' },
        );
  const [first = ''] = (message ?? '').split('\n', 1);
  return el('div', { class: 'note bad' }, name, first && ` – ${first.slice(0, 300)}`);
}

export function verificationBody(item: VerificationItem): Node[] {
  const lines = item.results.map(resultLine);
  const tampered = item.tampered.map((uri) =>
    el('div', { class: 'note warning' }, `Changed since the start: ${nameOf(uri)}`),
  );
  return [
    el('div', { class: `line ${item.tone}` }, icon(PICTURES[item.tone]), el('span', {}, item.title)),
    ...lines,
    ...tampered,
  ];
}

const RESULTS: Record<CheckResult['status'], { icon: IconName; tone: string; words: string }> = {
  pass: { icon: 'check', tone: 'good', words: 'passes' },
  fail: { icon: 'cross', tone: 'bad', words: 'fails' },
  skipped: { icon: 'dot', tone: 'quiet', words: 'skipped' },
  timeout: { icon: 'clock', tone: 'bad', words: 'took too long' },
  noTests: { icon: 'ban', tone: 'bad', words: 'found no tests' },
};

export function resultLine({ checkId, kind, status, evidence }: CheckResult): HTMLElement {
  const look = (RESULTS as Partial<typeof RESULTS>)[status] ?? { icon: 'question', tone: 'quiet', words: status };
  const name = checkId && checkId !== kind ? `${kind} ${checkId}` : kind;
  const [first = ''] = evidence.trim().split('\n', 1);
  return el(
    'div',
    { class: `note result ${look.tone}` },
    icon(look.icon),
    el('span', {}, `${name} ${look.words}`, first && el('span', { class: 'dim' }, ` – ${first.slice(0, 240)}`)),
  );
}

export function lineBody({ seq, tone, words, detail, about }: LineItem, context: ItemContext): Node[] {
  const head = [icon(about === 'goal' ? 'target' : PICTURES[tone]), el('span', {}, words)];
  if (!detail) return head;
  return [foldable(head, () => el('pre', { class: 'output' }, detail), context.fold(`line ${seq}`))];
}

const REMEDIES = { setKey: 'Set the key', setModel: 'Check the model' } as const;

export function endBody({ words, durationMs, time, remedy }: EndItem, context: ItemContext): Node[] {
  const took = durationMs === undefined ? '' : ` after ${seconds(durationMs)}`;
  const at = new Date(time).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  const told = el('span', {}, `${words}${took} · ${at}`);
  if (!remedy) return [told];
  const help = button(REMEDIES[remedy], () => {
    context.act(remedy);
  });
  return [told, help];
}
