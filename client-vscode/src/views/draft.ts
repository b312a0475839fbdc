// What a person has written and not sent. A page may be thrown away in the middle of a word, with its window.
import type * as vscode from 'vscode';
import { readDraft, type Draft } from './messages';

const KEPT = 'steersman.draft';
const SAVE_AFTER_MS = 300;
/** Characters of a draft that outlive the window. */
const LONGEST_KEPT = 200_000;
const NOTHING: Draft = { text: '', context: [] };

export class KeptDraft implements vscode.Disposable {
  private now: Draft;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly memory: vscode.Memento) {
    this.now = readDraft(memory.get(KEPT)) ?? NOTHING;
  }

  get value(): Draft {
    return this.now;
  }

  set(draft: Draft): void {
    this.now = draft;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.save();
    }, SAVE_AFTER_MS);
  }

  /** These words were taken, and perhaps no page was there to be told. */
  sent(text: string): void {
    if (this.now.text.trim() !== text) return;
    this.set(NOTHING);
    this.save();
  }

  dispose(): void {
    if (this.timer !== undefined) this.save();
  }

  private save(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { text, context } = this.now;
    const isKept = (text !== '' || context.length > 0) && JSON.stringify(this.now).length <= LONGEST_KEPT;
    void this.memory.update(KEPT, isKept ? this.now : undefined);
  }
}
