// Commands that talk to the agent without the sidebar's composer.
import type * as vscode from 'vscode';
import type { CurrentSession } from '../session/current';
import type { Sidebar } from '../views/sidebar';
import { askFor, register } from './register';

export function turnCommands(current: CurrentSession, sidebar: Sidebar): vscode.Disposable {
  return register({
    'turn.prompt': async () => {
      const text = await askFor('Prompt', 'What should the agent do? While it works, this is queued behind.');
      if (text === undefined) return;
      sidebar.reveal();
      await current.prompt(text);
    },
    'turn.steer': async () => {
      const text = await askFor('Steer', 'What should the agent know now? The next step sees it.');
      if (text !== undefined) await current.steer(text);
    },
    'turn.cancel': () => current.cancel(),
  });
}
