// Commands about the server itself: restart, log, settings, and the model's key.
import * as vscode from 'vscode';
import type { Key } from '../common/key';
import { openSettings } from '../common/settingsPage';
import type { Server } from '../lsp/server';
import type { CurrentSession } from '../session/current';
import { confirmed, register } from './register';

export function serverCommands(
  server: Server,
  current: CurrentSession,
  key: Key,
  log: vscode.LogOutputChannel,
): vscode.Disposable {
  return register({
    'server.restart': async () => {
      const running = server.state === 'running' && current.info?.state === 'running';
      if (running && !(await confirmed('The agent is at work. Restarting the server stops it.', 'Restart'))) return;
      await server.restart();
    },
    'log.show': () => {
      log.show();
    },
    'settings.open': () => openSettings('@ext:steersman.steersman'),
    'key.set': async () => {
      const text = await vscode.window.showInputBox({
        title: "The model's key",
        prompt: 'It is kept in the secret storage of this editor, and sent to the server alone.',
        password: true,
        ignoreFocusOut: true,
      });
      if (text?.trim()) await key.set(text.trim());
    },
    'key.forget': async () => {
      await key.forget();
      const restart = 'Restart Server';
      const words = 'Steersman: the key is forgotten. The running server has it until it is restarted.';
      const chosen = await vscode.window.showInformationMessage(words, restart);
      if (chosen === restart) await vscode.commands.executeCommand('steersman.server.restart');
    },
  });
}
