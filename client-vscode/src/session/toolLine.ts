// What a call acts on, in one short line, out of the arguments as the model wrote them. They may be anything.

const LONGEST = 160;
/** The members that say most, the best first. */
const TELLING = [
  'pattern',
  'path',
  'argv',
  'question',
  'query',
  'objective',
  'note',
  'url',
  'action',
  'symbol',
  'handle',
];

export function toolLine(args: string): string {
  const values = membersOf(args);
  if (!values) return shortened(args);
  const name = TELLING.find((member) => wordOf(values[member]) !== '');
  const word = name === undefined ? firstWord(values) : wordOf(values[name]);
  const target = wordOf(values.new_path);
  const range = name === 'path' ? linesOf(values) : '';
  const inFolder = name === 'pattern' && wordOf(values.path);
  return shortened([word, range, target && `→ ${target}`, inFolder && `in ${inFolder}`].filter(Boolean).join(' '));
}

function membersOf(args: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(args.trim() || '{}');
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function firstWord(values: Record<string, unknown>): string {
  return Object.values(values).map(wordOf).find(Boolean) ?? '';
}

function wordOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value) && value.every((part) => typeof part === 'string')) return value.map(argumentOf).join(' ');
  return '';
}

function argumentOf(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word);
}

function linesOf({ start_line: start, end_line: end }: Record<string, unknown>): string {
  if (typeof start !== 'number' && typeof end !== 'number') return '';
  return `lines ${wordOf(start) || 1}–${wordOf(end) || 'end'}`;
}

/** One line, without what would break it or steer its direction. */
export function shortened(text: string, longest = LONGEST): string {
  // eslint-disable-next-line no-control-regex -- control characters are what this is about
  const line = text.replace(/[\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, ' ').trim();
  return line.length <= longest ? line : `${line.slice(0, longest - 1)}…`;
}
