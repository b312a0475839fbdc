// Commands about the goal. What a goal may do is the server's decision; its refusals are told as they are.
import * as vscode from 'vscode';
import { plainNotice } from '../common/notice';
import type { CurrentSession } from '../session/current';
import type { Sidebar } from '../views/sidebar';
import { askFor, confirmed, register } from './register';

/** Objectives that `/goal` would read as one of its own words. */
const OWN_WORD = /^(?:pause|resume|clear)$|^edit\b|^--/i;

export function goalCommands(current: CurrentSession, sidebar: Sidebar): vscode.Disposable {
  const say = async (command: string) => {
    sidebar.reveal();
    const answer = await current.goalCommand(command);
    if (!answer.ok) void vscode.window.showWarningMessage(plainNotice(`Steersman: ${answer.message}`));
  };
  return register({
    'goal.show': () => {
      sidebar.reveal();
    },
    'goal.create': async () => {
      const prompt = 'What is to be reached? It may end in --check "COMMAND" and --rounds N.';
      const objective = await askFor('Create a goal', prompt);
      if (objective !== undefined) await say(goalText(objective));
    },
    'goal.edit': async () => {
      const objective = await askFor('Edit the goal', 'Its new objective', current.info?.goal?.objective);
      if (objective !== undefined) await say(`/goal edit ${objective}`);
    },
    'goal.pause': () => current.goal('pause'),
    'goal.resume': () => current.goal('resume'),
    'goal.accept': async () => {
      const question = 'Accept the goal as done, whatever its checks say? The record will say that you did.';
      if (await confirmed(question, 'Accept')) await current.goal('accept');
    },
    'goal.clear': async () => {
      if (await confirmed('Clear the goal? What was changed in the files stays.', 'Clear')) await current.goal('clear');
    },
  });
}

export function goalText(objective: string): string {
  return OWN_WORD.test(objective.trim()) ? `/goal -- ${objective}` : `/goal ${objective}`;
}
