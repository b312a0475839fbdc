// What the views of items share: the way out of the page, and which parts the person has folded open.
import type { ContextItem } from '../../src/lsp/protocol';
import type { Action } from '../../src/views/messages';
import type { Host } from '../host';

export class ItemContext {
  private readonly open = new Set<string>();

  constructor(private readonly host: Host) {}

  readonly openLink = (url: string): void => {
    this.host.post({ type: 'openLink', url });
  };

  openFile(uri: string, line?: number): void {
    this.host.post({ type: 'openFile', uri, line });
  }

  act(action: Action): void {
    this.host.post({ type: 'act', action });
  }

  /** Remembers, under a key, whether a part is open: rows come and go as the person scrolls. */
  fold(key: string): { isOpen: boolean; toggled(isOpen: boolean): void } {
    return {
      isOpen: this.open.has(key),
      toggled: (isOpen) => {
        if (isOpen) this.open.add(key);
        else this.open.delete(key);
      },
    };
  }

  forget(): void {
    this.open.clear();
  }
}

/** The last part of an address, for people. */
export function nameOf(uri: string): string {
  const last = uri.slice(uri.lastIndexOf('/') + 1) || uri;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** `file.py:3–9` */
export function placeOf({ uri, range }: ContextItem): string {
  if (!range) return nameOf(uri);
  const first = range.start.line + 1;
  const last = range.end.line + 1;
  return `${nameOf(uri)}:${first}${last > first ? `–${last}` : ''}`;
}
