// The model's key: in the editor's secret storage, and nowhere else on this side.
import type * as vscode from 'vscode';

const NAME = 'steersman.apiKey';

export class Key {
  constructor(private readonly secrets: vscode.SecretStorage) {}

  async get(): Promise<string | undefined> {
    return this.secrets.get(NAME);
  }

  async set(text: string): Promise<void> {
    await this.secrets.store(NAME, text);
  }

  async forget(): Promise<void> {
    await this.secrets.delete(NAME);
  }

  /** It was set or forgotten, in this window or another one. */
  onDidChange(listener: () => void): vscode.Disposable {
    return this.secrets.onDidChange(({ key }) => {
      if (key === NAME) listener();
    });
  }
}
