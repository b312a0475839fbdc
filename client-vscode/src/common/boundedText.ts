// The record of a process's output: its head and its tail, so that it never grows with what is written.

/** One part in so many is the head: what failed stands at the end. */
const HEAD_SHARE = 3;
/** Reserved for the line that says how much is missing. */
const MARKER_BYTES = 64;

export class BoundedText {
  private readonly headLimit: number;
  private readonly tailLimit: number;
  private head = '';
  private headBytes = 0;
  private tail: string[] = [];
  private tailBytes = 0;
  private total = 0;

  /** `limit` is in bytes of UTF-8, the marker included. */
  constructor(private readonly limit: number) {
    const room = limit - MARKER_BYTES;
    this.headLimit = Math.floor(room / HEAD_SHARE);
    this.tailLimit = limit - this.headLimit;
  }

  add(text: string): void {
    this.total += Buffer.byteLength(text);
    const rest = this.fillHead(text);
    if (rest === '') return;
    this.tail.push(rest);
    this.tailBytes += Buffer.byteLength(rest);
    if (this.tailBytes > 2 * this.tailLimit) {
      const kept = lastBytes(this.tail.join(''), this.tailLimit);
      this.tail = [kept];
      this.tailBytes = Buffer.byteLength(kept);
    }
  }

  toString(): string {
    const tail = this.tail.join('');
    if (this.total <= this.limit) return this.head + tail;
    const end = lastBytes(tail, this.limit - MARKER_BYTES - this.headBytes);
    const omitted = this.total - this.headBytes - Buffer.byteLength(end);
    return `${this.head}\n… ${omitted} bytes omitted …\n${end}`;
  }

  /** Takes what still fits into the head; the rest of the text is given back. */
  private fillHead(text: string): string {
    const room = this.headLimit - this.headBytes;
    if (room <= 0 || this.tailBytes > 0) return text;
    const taken = firstBytes(text, room);
    this.head += taken;
    this.headBytes += Buffer.byteLength(taken);
    return text.slice(taken.length);
  }
}

/** The longest start of whole characters within `limit` bytes. */
function firstBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  let end = limit;
  while (end > 0 && isInside(bytes, end)) end -= 1;
  return bytes.toString('utf8', 0, end);
}

function lastBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  let start = bytes.length - limit;
  while (start < bytes.length && isInside(bytes, start)) start += 1;
  return bytes.toString('utf8', start);
}

/** Whether a cut before this byte would tear a character. */
function isInside(bytes: Buffer, at: number): boolean {
  return ((bytes[at] ?? 0) & 0xc0) === 0x80;
}
