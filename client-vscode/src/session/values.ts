// What the window knows of its session, as values that the page may know too.

/** How it stands with having a session at all. `words` are for the person. */
export type Opening =
  | { kind: 'none' }
  | { kind: 'opening'; words: string }
  | { kind: 'open' }
  | { kind: 'readOnly'; words: string }
  | { kind: 'failed'; words: string };

/** `accept` completes a goal over its checks. */
export type GoalVerb = 'pause' | 'resume' | 'clear' | 'accept';
