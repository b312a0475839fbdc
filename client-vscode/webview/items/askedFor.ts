// What a call asked for: an edit as the lines that go and come, anything else as the model wrote it.
import { el } from '../dom';

const LONGEST = 40_000;

export function askedFor(name: string, written: string): HTMLElement {
  const members = membersOf(written);
  const hunks = name === 'edit_file' ? hunksOf(members) : undefined;
  if (hunks) return el('pre', { class: 'output diff' }, ...hunks.flatMap(hunkLines));
  if (name === 'write_file' && typeof members?.content === 'string') return words(members.content);
  return words(members ? JSON.stringify(members, undefined, 2).replaceAll('\\n', '\n') : written);
}

interface Hunk {
  old: string;
  new: string;
}

function hunksOf(members: Record<string, unknown> | undefined): Hunk[] | undefined {
  if (!Array.isArray(members?.edits)) return undefined;
  const hunks: Hunk[] = [];
  let size = 0;
  for (const edit of members.edits as unknown[]) {
    const { old_text: before, new_text: after } = (edit ?? {}) as Record<string, unknown>;
    if (typeof before !== 'string' || typeof after !== 'string') return undefined;
    size += before.length + after.length;
    hunks.push({ old: before, new: after });
  }
  return size > LONGEST ? undefined : hunks;
}

function hunkLines({ old, new: text }: Hunk, index: number): Node[] {
  const gap = index === 0 ? [] : [el('span', { class: 'dim' }, '⋯\n')];
  return [...gap, ...linesOf(old, '−', 'removed'), ...linesOf(text, '+', 'added')];
}

function linesOf(text: string, sign: string, look: string): Node[] {
  if (text === '') return [];
  return text
    .replace(/\r?\n$/, '')
    .split(/\r?\n/)
    .map((line) => el('span', { class: look }, `${sign} ${line}\n`));
}

function words(text: string): HTMLElement {
  return el('pre', { class: 'output' }, shortened(text));
}

function membersOf(written: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(written);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

export function shortened(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}\n… the events of the session have all of it`;
}
