// The first minute in a real VS Code: a folder that is not trusted, and a server that cannot be started.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startEditor, story, until } from './harness.mjs';
import { Provider, say } from './provider.mjs';
import { FILES, WRONG, look, repair, test } from './shop.mjs';

describe('in a folder that is not trusted', () => {
  let editor;
  let provider;
  const step = story(it, () => editor);

  before(async () => {
    provider = await new Provider().start();
    editor = await startEditor({
      files: FILES,
      trust: true,
      machine: { 'steersman.model.baseUrl': provider.url, 'steersman.model.name': 'scripted' },
    });
    await editor.open();
  });
  after(async () => {
    await editor?.stop();
    await provider?.stop();
  });

  step('the sidebar says what that means, and nothing is edited or run', async () => {
    const dialog = editor.page.locator('.monaco-dialog-box').filter({ hasText: 'Do you trust' });
    await dialog.getByRole('button', { name: /^No/ }).click();
    await editor.openSidebar();
    await editor.sees('This folder is not trusted');
    provider.script(look, repair, test, say('I may only read here.'));
    await editor.write('Make the tests pass.');
    await editor.sees('I may only read here.');
    assert.equal(fs.readFileSync(path.join(editor.work, 'cart.py'), 'utf8'), WRONG);
    assert.deepEqual(editor.processes('pytest'), []);
    assert.doesNotMatch(await editor.words(), /Tests (passed|failed)/);
  });

  step('once it is trusted the same prompt does its work', async () => {
    await editor.command('Workspaces: Manage Workspace Trust');
    await editor.page.locator('.workspace-trust-editor').getByRole('button', { name: /^Trust/ }).first().click();
    await until('the notice is gone', async () => !(await editor.words()).includes('This folder is not trusted'));
    await editor.ready();
    provider.script(look, repair, test, say('Repaired.'));
    await editor.write('And now?');
    await editor.sees('Tests passed');
    await editor.sees('Repaired.');
  });
});

describe('without a server', () => {
  let editor;
  const step = story(it, () => editor);

  before(async () => {
    editor = await startEditor({ files: FILES, command: ['steersman-that-is-not-there', 'serve'] });
    await editor.open();
  });
  after(() => editor?.stop());

  step('the sidebar says what to do', async () => {
    await editor.page.locator('.activitybar').getByRole('tab', { name: 'Steersman' }).click();
    await editor.sees(/steersman\.server\.command|steersman-that-is-not-there/);
    await editor.button('Show log').waitFor();
    await editor.button('Start again').waitFor();
    assert.deepEqual(editor.servers(), []);
  });
});
