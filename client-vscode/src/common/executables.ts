// Where a program is, without running it.
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import * as path from 'node:path';

const SUFFIXES = process.platform === 'win32' ? ['.exe', '.cmd', '.bat'] : [''];

/** The absolute path of a program on a search path. Relative entries are left out: they name other people's folders. */
export async function findOnPath(name: string, searchPath = process.env.PATH ?? ''): Promise<string | undefined> {
  for (const folder of searchPath.split(path.delimiter)) {
    if (!path.isAbsolute(folder)) continue;
    for (const suffix of SUFFIXES) {
      const file = path.join(folder, name + suffix);
      if (await isExecutable(file)) return file;
    }
  }
  return undefined;
}

export async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
