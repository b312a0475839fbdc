// Cancellation that has more than one cause.
import * as vscode from 'vscode';

/** A token that is cancelled with the first of the others. Dispose it when the work is over. */
export function anyOf(...tokens: vscode.CancellationToken[]): { token: vscode.CancellationToken; dispose(): void } {
  const source = new vscode.CancellationTokenSource();
  const hooks = tokens.map((token) =>
    token.onCancellationRequested(() => {
      source.cancel();
    }),
  );
  if (tokens.some((token) => token.isCancellationRequested)) source.cancel();
  return {
    token: source.token,
    dispose: () => {
      for (const hook of hooks) hook.dispose();
      source.dispose();
    },
  };
}
