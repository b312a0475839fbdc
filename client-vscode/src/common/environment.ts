// The environment of child processes: what a person's shell would give, without secrets and the editor's own traces.
// The provider's key must never be in it, under whatever name.
import * as path from 'node:path';

const SECRET =
  /^OPENAI_|^STEERSMAN_|(^|_)(TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(_|$)|(_KEY|API_?KEY|ACCESS_KEY_ID|TOKEN|SECRET|PASSWORD)$/i;
const DROPPED = new Set([
  'BASH_ENV',
  'CLICOLOR_FORCE',
  'DYLD_INSERT_LIBRARIES',
  'EDITOR',
  'ELECTRON_RUN_AS_NODE',
  'ENV',
  'FORCE_COLOR',
  'GIT_ASKPASS',
  'LD_AUDIT',
  'LD_PRELOAD',
  'NODE_OPTIONS',
  'PYTEST_CURRENT_TEST',
  'PYTHONBREAKPOINT',
  'PYTHONEXECUTABLE',
  'PYTHONHOME',
  'PYTHONINSPECT',
  'PYTHONPATH',
  'PYTHONSTARTUP',
  'SSH_ASKPASS',
  'SUDO_ASKPASS',
  'VIRTUAL_ENV',
  'VIRTUAL_ENV_PROMPT',
  'VISUAL',
  '__PYVENV_LAUNCHER__',
]);
/** Nobody sits at the other end: nothing may ask, page, or colour. */
const NON_INTERACTIVE = {
  CI: '1',
  DEBIAN_FRONTEND: 'noninteractive',
  GIT_EDITOR: 'true',
  GIT_PAGER: 'cat',
  GIT_SEQUENCE_EDITOR: 'true',
  GIT_TERMINAL_PROMPT: '0',
  MANPAGER: 'cat',
  NO_COLOR: '1',
  PAGER: 'cat',
  PIP_NO_INPUT: '1',
  PYTHONUNBUFFERED: '1',
  TERM: 'dumb',
};
const SCRIPTS = process.platform === 'win32' ? 'Scripts' : 'bin';
/** A key shorter than this is none: its value is not searched for in other variables. */
const KEY_CHARACTERS = 8;

export type Environment = Record<string, string>;

/** `own` is the editor's environment. The virtual environment's programs come first on the PATH; `extra` is added as it stands. */
export function childEnvironment(
  own: NodeJS.ProcessEnv,
  virtualEnvironment: string | undefined,
  extra: Environment = {},
): Environment {
  const entries = Object.entries(own).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const keys = entries
    .filter(([name, value]) => /^OPENAI_.*KEY$/i.test(name) && value.length >= KEY_CHARACTERS)
    .map(([, value]) => value);
  const kept = entries.filter(([name, value]) => !isPrivate(name) && !keys.some((key) => value.includes(key)));
  const env: Environment = { ...Object.fromEntries(kept), ...NON_INTERACTIVE, ...extra };
  if (virtualEnvironment !== undefined) {
    env.VIRTUAL_ENV = virtualEnvironment;
    env.PATH = [path.join(virtualEnvironment, SCRIPTS), env.PATH].filter(Boolean).join(path.delimiter);
  }
  return env;
}

function isPrivate(name: string): boolean {
  return DROPPED.has(name.toUpperCase()) || name.startsWith('VSCODE_') || SECRET.test(name);
}
