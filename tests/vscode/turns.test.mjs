// A person at work in a real VS Code: prompt, steer, stop, approve, answer, reload, and a server that dies.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, it } from 'node:test';
import { PYTHON, startEditor, story, until } from './harness.mjs';
import { Provider, call, say } from './provider.mjs';
import { FILES, RIGHT, WRONG, gate, look, repair, test } from './shop.mjs';

const SLEEP = [PYTHON, '-c', 'import time; time.sleep(600)'];
let editor;
let provider;
const step = story(it, () => editor);

before(async () => {
  provider = await new Provider().start();
  editor = await startEditor({
    files: FILES,
    machine: {
      'steersman.model.baseUrl': provider.url,
      'steersman.model.name': 'scripted',
      'steersman.permissions.commands': [{ argv: SLEEP, decision: 'allow' }],
    },
  });
  await editor.open();
});

after(async () => {
  await editor?.stop();
  await provider?.stop();
});

step('the sidebar opens and says what can be done', async () => {
  await editor.openSidebar();
  await editor.sees('What shall be done?');
  await editor.sees('scripted');
});

step('a prompt is answered as it streams, its edit lands in the buffer, and the tests go from red to green', async () => {
  await editor.openFile('cart.py');
  await until('the file is open', () => editor.buffer(), (text) => text.includes('- 1'));
  const { opened, open } = gate();
  provider.script({ ...say('Let me look at the cart first.', { until: opened }), calls: look.calls }, test, repair, test, say('It **subtracted one**. Fixed.'));
  await editor.write('Make the tests pass.');
  await editor.sees('Let me look');
  assert.match(await editor.words(), /Stop/);
  open();
  await editor.sees('Tests failed');
  await editor.sees('Tests passed');
  await editor.sees('subtracted one');
  await until('the buffer holds the repair', () => editor.buffer(), (text) => text.includes('return sum(items)') && !text.includes('- 1'));
  assert.match(await editor.words(), /2 passed/);
});

step('the tests stand in the Test Explorer with how they ended', async () => {
  await editor.command('Testing: Focus on Test Explorer View');
  const row = editor.page.locator('.test-explorer .monaco-list-row').filter({ hasText: 'test_total' }).first();
  await until('the test is listed', async () => {
    if (await row.isVisible()) return true;
    await editor.page.locator('.test-explorer .monaco-list-row').first().click();
    await editor.page.keyboard.press('ArrowRight');
    return false;
  });
  await row.locator('.codicon-testing-passed-icon').waitFor();
  await editor.openSidebar();
});

step('the edit can be undone like any other', async () => {
  await editor.page.locator('.editor-instance .view-lines').first().click();
  await editor.page.keyboard.press('Control+Z');
  await until('the buffer is as before', () => editor.buffer(), (text) => text.includes('- 1'));
  await editor.page.keyboard.press('Control+Shift+Z');
  await until('the buffer is repaired again', () => editor.buffer(), (text) => !text.includes('- 1'));
});

step('a steer reaches the model at its next step', async () => {
  const { opened, open } = gate();
  provider.script({ ...say('Reading on.', { until: opened }), calls: look.calls }, (messages) => {
    const seen = messages.some(({ role, content }) => role === 'user' && content?.includes('leave the names alone'));
    return say(seen ? 'The names stay.' : 'Nobody steered.');
  });
  await editor.write('Look at it again.');
  await editor.sees('Reading');
  await until('Enter will steer', () => editor.composer.getAttribute('placeholder'), (text) => text.startsWith('Steer'));
  await editor.write('Please leave the names alone.');
  await editor.sees('Please leave the names alone.'); // it waits at the server: the step may end now
  open();
  await editor.sees('The names stay.');
});

step('Stop ends a running command with all its processes, and holds what waits', async () => {
  provider.script(call(['run_command', { argv: SLEEP }]), say('This must not be asked for.'));
  const asked = provider.requests.length;
  await editor.write('Run it.');
  await until('the command runs', () => editor.processes('time.sleep(600)').length);
  await editor.write('And then tidy up.', 'Alt+Enter');
  await editor.sees('And then tidy up.');
  await editor.button('Stop').click();
  await until('the command is gone', () => editor.processes('time.sleep(600)').length, (count) => count === 0);
  await editor.sees(/Stopped|You stopped/);
  assert.equal(provider.requests.length, asked + 1);
  await until('what waits is held', () => editor.composer.getAttribute('placeholder'), (text) => text.includes('held'));
});

step('what was held runs when it is let go', async () => {
  provider.script(say('All is tidy.'));
  await editor.sidebar.getByRole('button', { name: /Release|Run/ }).first().click();
  await editor.sees('All is tidy.');
});

step('an approval is asked in the sidebar, and a no is told to the model', async () => {
  provider.script(call(['run_command', { argv: ['git', 'push'] }]), (messages) => say(`So be it: ${messages.at(-1).content.includes('denied')}.`));
  await editor.write('Push it.');
  await editor.sees('git push');
  await editor.button('Deny').click();
  await editor.sees('So be it: true.');
});

step('while the sidebar is hidden an approval comes as a notification', async () => {
  provider.script(call(['run_command', { argv: [PYTHON, '-c', 'print("ran " * 2)'] }]), (messages) => say(`It said: ${messages.at(-1).content.match(/ran ran/)?.[0]}.`));
  const { opened, open } = gate();
  provider.script({ ...say('One moment please.', { until: opened }), calls: [['run_command', { argv: [PYTHON, '-c', 'print("ran " * 2)'] }]] }, (messages) => say(`It said: ${JSON.stringify(messages.at(-1)).match(/ran ran/)?.[0]}.`));
  await editor.write('Run a command.');
  await editor.sees('One moment');
  await editor.page.locator('.activitybar').getByRole('tab', { name: /Explorer/ }).first().click();
  open();
  const toast = editor.page.locator('.notifications-toasts, .notifications-center');
  await toast.getByText('Steersman asks').first().waitFor();
  await toast.getByRole('button', { name: 'Allow', exact: true }).first().click();
  await editor.openSidebar();
  await editor.sees('It said: ran ran.');
});

step('a question of the model is answered in the sidebar', async () => {
  provider.script(call(['ask_user', { question: 'Tabs or spaces?', choices: ['Tabs', 'Spaces'] }]), (messages) => say(`You chose ${/Spaces/.test(messages.at(-1).content) ? 'well' : 'badly'}.`));
  await editor.write('Ask me something.');
  await editor.sees('Tabs or spaces?');
  await editor.button('Spaces').click();
  await editor.sees('You chose well.');
});

step('a server that is killed is started again, and the transcript has no hole and nothing twice', async () => {
  const [server] = editor.servers();
  process.kill(server, 'SIGKILL');
  await until('another server runs', () => editor.servers(), (pids) => pids.length === 1 && pids[0] !== server);
  await editor.sees('Opened again');
  await editor.ready();
  provider.script(say('Still here.'));
  await editor.write('Are you there?');
  await editor.sees('Still here.');
  const words = await editor.words();
  for (const said of ['You chose well.', 'The names stay.', 'Still here.']) assert.equal(words.split(said).length, 2, said);
});

step('a reload of the window finds everything', async () => {
  await editor.reload();
  await editor.openSidebar();
  await editor.sees('Still here.');
  const words = await editor.words();
  for (const said of ['You chose well.', 'The names stay.', 'Still here.']) assert.equal(words.split(said).length, 2, said);
  assert.equal(fs.readFileSync(path.join(editor.work, 'cart.py'), 'utf8'), RIGHT);
  assert.notEqual(RIGHT, WRONG);
});
