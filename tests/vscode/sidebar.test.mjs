// The sidebar in a real VS Code where room, keys and sessions are in the way: narrow, with the keyboard alone, with
// several sessions, and thrown away in the middle of a word.
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { startEditor, story, until } from './harness.mjs';
import { Provider, call, say } from './provider.mjs';
import { FILES, gate } from './shop.mjs';

const PUSH = call(['run_command', { argv: ['git', 'push', '--force-with-lease', 'origin', 'a/branch/with/a/long/name'] }]);
const OBJECTIVE = 'Make every test of this repository pass, change no public name, and keep the documentation in step. '.repeat(5);
let editor;
let provider;
const step = story(it, () => editor);

before(async () => {
  provider = await new Provider().start();
  editor = await startEditor({
    files: FILES,
    machine: { 'steersman.model.baseUrl': provider.url, 'steersman.model.name': 'scripted' },
  });
  await editor.open();
});

after(async () => {
  await editor?.stop();
  await provider?.stop();
});

/** Which element of the page has the focus, by its name. */
const focused = () => editor.sidebar.locator('body').evaluate(() => document.activeElement?.ariaLabel ?? document.activeElement?.textContent);
const isAtTheWords = (when) => until(`the focus is in the composer ${when}`, focused, (name) => name === 'Message to the agent');
const pageScrolls = () => editor.sidebar.locator('html').evaluate(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight);
const isAtItsEnd = () =>
  editor.sidebar.locator('.scroller').evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight < 2);
/** Whether the middle of something is where a person can press it. */
const isInSight = (locator) =>
  locator.evaluate((element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
  });

step('however long the transcript is, the page itself cannot be scrolled away', async () => {
  await editor.openSidebar();
  for (let number = 1; number <= 5; number += 1) {
    provider.script(say(`${'These are words of a long answer. '.repeat(12)} The end of answer ${number}.`));
    await editor.write(`Message ${number}`);
    await editor.sees(`The end of answer ${number}.`);
  }
  assert.equal(await pageScrolls(), false);
});

step('in a narrow sidebar a goal and an approval leave room for each other, and for the words', async () => {
  await editor.widenSidebar(-120);
  provider.script(PUSH, say('Then not.'), say('Still not.'));
  await editor.write(`/goal ${OBJECTIVE} --check "pytest -q" --rounds 3`);
  await editor.sees('git push');
  for (const name of ['Allow', 'Deny', 'Stop']) assert.ok(await isInSight(editor.sidebar.getByRole('button', { name }).first()), name);
  assert.ok(await isInSight(editor.composer), 'the composer');
  assert.equal(await pageScrolls(), false);
  await until('the transcript is at its end', isAtItsEnd);
});

step('with the keyboard alone one is at the words again after a decision and after Stop', async () => {
  await editor.button('Deny').focus();
  await editor.page.keyboard.press('Enter');
  await isAtTheWords('after Deny');
  await editor.button('Stop').focus();
  await editor.page.keyboard.press('Enter');
  await isAtTheWords('after Stop');
  await editor.goal.getByText('paused', { exact: true }).waitFor();
});

step('the transcript stays at its end while a message of many lines is written', async () => {
  for (const line of ['one', 'two', 'three', 'four', 'five']) {
    await editor.page.keyboard.type(line);
    await editor.page.keyboard.press('Shift+Enter');
  }
  await until('the transcript is at its end', isAtItsEnd);
  assert.equal(await editor.button('Jump to latest').isVisible(), false);
  await editor.composer.fill('');
  await editor.widenSidebar(120);
});

step('what another session asks says so, also when it was asked before the other one was shown', async () => {
  await editor.command('Steersman: New Session');
  await editor.sees('What shall be done?');
  provider.script(PUSH, say('Then not.'));
  await editor.write('Push it.');
  await editor.sees('git push');
  assert.equal(await editor.sidebar.getByText('From another session').isVisible(), false);
  await editor.command('Steersman: New Session');
  await editor.sees('From another session');
  await editor.button('Deny').click();
  await until('nothing is asked any more', () => editor.button('Deny').isVisible(), (isThere) => !isThere);
});

step('a fork goes on from what was said, and leaves the session as it was', async () => {
  provider.script(say('The first answer.'), say('Said in the fork.'));
  await editor.write('Begin.');
  await editor.sees('The first answer.');
  await editor.command('Steersman: Fork Session');
  await editor.sees('Forked from another session');
  await editor.sees('The first answer.');
  await editor.write('Go on.');
  await editor.sees('Said in the fork.');
});

step('what was written and not sent is there after a reload, and what was sent is not', async () => {
  await editor.composer.fill('Half a thought');
  await new Promise((kept) => setTimeout(kept, 1000));
  await editor.reload();
  await editor.openSidebar();
  await until('the words are there', () => editor.composer.inputValue(), (text) => text === 'Half a thought');
  const { opened, open } = gate();
  provider.script(say('One moment, and done.', { until: opened }));
  await editor.composer.press('Enter');
  await editor.sees('One moment');
  await editor.reload();
  open();
  await editor.openSidebar();
  await editor.sees('Half a thought');
  assert.equal(await editor.composer.inputValue(), '');
});

step('the settings of the model are shown where they can be set', async () => {
  await editor.command('Steersman: Open Settings');
  await editor.page.locator('.settings-editor').getByText('Context Window').first().waitFor();
});
