// Opening a session with patience: the window that had it may need a moment to let go. What cannot be written is read.
import type { SessionInfo } from '../lsp/protocol';
import { refusalOf, wordsOf, type Wire } from '../lsp/wire';

/** How long a lock is waited for, and how often it is tried, in milliseconds. */
const PATIENCE_MS = 6_000;
const TRY_EVERY_MS = 250;

export const LETTING_GO = 'Another window is letting go of this session…';

export interface Taken {
  info: SessionInfo;
  /** Why it can only be read here. */
  readOnlyBecause?: string;
}

/**
 * Opens a session for writing, or, where that cannot be, for reading.
 * `say` is told what is waited for; undefined is given back where `wanted` says that nobody waits any more.
 */
export async function openPatiently(
  wire: Wire,
  sessionId: string,
  say: (words: string) => void,
  wanted: () => boolean,
): Promise<Taken | undefined> {
  const deadline = Date.now() + PATIENCE_MS;
  while (wanted()) {
    try {
      return { info: await wire.request('steersman/session/open', { sessionId }) };
    } catch (error) {
      const why = whyOnlyRead(error);
      if (why === undefined) throw error;
      const isLocked = refusalOf(error)?.kind === 'sessionLocked';
      if (!isLocked || Date.now() >= deadline) return await openToRead(wire, sessionId, why);
    }
    say(LETTING_GO);
    await new Promise((resolve) => setTimeout(resolve, TRY_EVERY_MS));
  }
  return undefined;
}

async function openToRead(wire: Wire, sessionId: string, readOnlyBecause: string): Promise<Taken> {
  const info = await wire.request('steersman/session/open', { sessionId, readOnly: true });
  return { info, readOnlyBecause };
}

function whyOnlyRead(error: unknown): string | undefined {
  switch (refusalOf(error)?.kind) {
    case 'sessionLocked':
      return 'Another window or program has this session open. Close it there, then open it here again.';
    case 'sessionCorrupt':
      return wordsOf(error); // the server says that it is damaged, and where
    case 'workspaceMismatch':
      return 'It belongs to another folder. Open that folder to go on with it.';
    default:
      return undefined;
  }
}
