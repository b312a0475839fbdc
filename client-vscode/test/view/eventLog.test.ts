// Events by seq: in order, without gap or double, whatever order they come in.
import { describe, expect, it } from 'vitest';
import { EventLog } from '../../src/session/eventLog';
import { chunks, Log } from './values';

const ALL = chunks(12);
const part = (from: number, to: number) => ALL.slice(from - 1, to);
const seqs = (log: EventLog) => log.events.map(({ seq }) => seq);

describe('the events of a session', () => {
  it('are in order, in whatever order they come, and each comes once', () => {
    for (let turn = 0; turn < 200; turn += 1) {
      const log = new EventLog(0);
      const fresh: number[] = [];
      // Pieces that overlap, in an order that is another each time and the same each run.
      const pieces = [part(1, 4), part(3, 6), part(6, 6), part(7, 10), part(9, 12), part(2, 11)];
      for (let left = pieces.length, random = turn; left > 0; left -= 1, random = Math.floor(random / 3) + turn) {
        const [piece] = pieces.splice(random % left, 1);
        fresh.push(...log.add(piece ?? []).map(({ seq }) => seq));
      }
      expect(seqs(log)).toEqual(ALL.map(({ seq }) => seq));
      expect(fresh).toEqual(seqs(log));
    }
  });

  it('tell how far they go, and how far others are known to go', () => {
    const log = new EventLog(0);
    log.add(part(1, 3));
    log.add(part(3, 3));
    log.add(part(8, 9));
    expect([log.lastSeq, log.seenSeq]).toEqual([3, 9]);
    log.add(part(4, 7));
    expect([log.lastSeq, log.seenSeq]).toEqual([9, 9]);
  });

  it('may begin later, and then take what lies right before, and nothing else', () => {
    const log = new EventLog(8);
    log.add(part(9, 12));
    expect(log.addEarlier(3, part(4, 7))).toBe(false);
    expect(log.addEarlier(3, part(5, 8))).toBe(false);
    expect(log.addEarlier(4, part(5, 12))).toBe(false);
    expect(seqs(log)).toEqual([9, 10, 11, 12]);
    expect(log.addEarlier(4, part(5, 8))).toBe(true);
    expect(log.startSeq).toBe(4);
    expect(seqs(log)).toEqual([5, 6, 7, 8, 9, 10, 11, 12]);
  });

  it('let chunks go with the message that has their words, also in what is put in front', () => {
    const { events } = new Log().turn(1, 'hi').chunk('a').reply('a').turn(2, 'ho').chunk('b').reply('b').chunk('c');
    const log = new EventLog(5);
    log.add(events.slice(5));
    expect(log.addEarlier(0, events.slice(0, 5))).toBe(true);
    const chunked = log.events.filter(({ type }) => type === 'assistant/chunk');
    expect(chunked.map(({ seq }) => seq)).toEqual([11]);
  });
});
