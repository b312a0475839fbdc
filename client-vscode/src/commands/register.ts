// Commands as the editor knows them. Whatever fails is told to the person in its own words.
import * as vscode from 'vscode';
import { plainNotice } from '../common/notice';
import { wordsOf } from '../lsp/wire';

export type Command = (...args: unknown[]) => unknown;

/** Registers each under `steersman.` and its name. */
export function register(commands: Record<string, Command>): vscode.Disposable {
  return vscode.Disposable.from(
    ...Object.entries(commands).map(([name, act]) =>
      vscode.commands.registerCommand(`steersman.${name}`, async (...args: unknown[]) => {
        try {
          await act(...args);
        } catch (error) {
          void vscode.window.showErrorMessage(plainNotice(`Steersman: ${wordsOf(error)}`));
        }
      }),
    ),
  );
}

/** Asks for a line of text; undefined where the person gave none. */
export async function askFor(title: string, prompt: string, value = ''): Promise<string | undefined> {
  const text = await vscode.window.showInputBox({ title, prompt, value, ignoreFocusOut: true });
  return text?.trim() ? text : undefined;
}

/** Asks once more before something that cannot be taken back. */
export async function confirmed(question: string, act: string): Promise<boolean> {
  return (await vscode.window.showWarningMessage(plainNotice(question), { modal: true }, act)) === act;
}
