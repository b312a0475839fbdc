// Runs that the server asked for and that have not ended. Each can be withdrawn by its id, and all with the server.
import * as vscode from 'vscode';
import { anyOf } from '../common/cancellation';

export class OpenRuns {
  private readonly open = new Map<string, vscode.CancellationTokenSource>();

  /** Runs `act` with a token that `request`'s token, `withdraw(id)` and `withdrawAll` cancel. */
  async run<T>(
    id: string,
    request: vscode.CancellationToken,
    act: (token: vscode.CancellationToken) => Promise<T>,
  ): Promise<T> {
    const withdrawn = new vscode.CancellationTokenSource();
    const either = anyOf(request, withdrawn.token);
    this.open.set(id, withdrawn);
    try {
      return await act(either.token);
    } finally {
      if (this.open.get(id) === withdrawn) this.open.delete(id);
      either.dispose();
      withdrawn.dispose();
    }
  }

  withdraw(id: string): void {
    this.open.get(id)?.cancel();
  }

  withdrawAll(): void {
    for (const source of this.open.values()) source.cancel();
  }
}
