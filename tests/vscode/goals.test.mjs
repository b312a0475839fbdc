// A goal in a real VS Code: from a red test to verified complete, over a reload, and over a window that is closed.
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { startEditor, story, until } from './harness.mjs';
import { Provider, call, say } from './provider.mjs';
import { FILES, gate, look, repair, test } from './shop.mjs';

const CHECK = 'python -m pytest -q -p no:cacheprovider';
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

/** Reports the goal as complete, as it stands in what the model was just shown. */
function complete(messages) {
  const goal = JSON.parse(messages.at(-1).content);
  return call(['update_goal', { goal_id: goal.id, revision: goal.revision, action: 'complete', evidence: 'The tests pass.' }]);
}

const ask = call(['get_goal', {}]);

step('a goal goes from a red test to verified complete, and a claim before that is refused', async () => {
  await editor.openSidebar();
  await editor.widenSidebar(150);
  await editor.openFile('cart.py');
  provider.script(
    // The first round claims too early.
    { ...say('Let me see how it stands.'), calls: ask.calls },
    complete,
    (messages) => {
      assert.match(messages.at(-1).content, /NOT_VERIFIED|not verified|did not pass/i);
      return { ...say('It is not done: a test fails. I look at the cart.'), calls: look.calls };
    },
    { ...say('The sum is off by one.'), calls: repair.calls },
    say('Repaired. The next round proves it.'),
    // The second round proves it.
    test,
    ask,
    complete,
    say('`total()` subtracted one. It is repaired, and the goal’s check passes.'),
  );
  await editor.write(`/goal Make the tests of the cart pass --check "${CHECK}" --rounds 20`);
  await editor.goal.getByText('complete', { exact: true }).first().waitFor();
  await editor.sees('the goal’s check passes');
  const goal = await editor.goal.innerText();
  assert.match(goal, /2\s*(\/|of)\s*20/);
  const words = await editor.words();
  assert.match(words, /fails/);
  assert.match(words, /Tests passed/);
  await until('the buffer holds the repair', () => editor.buffer(), (text) => !text.includes('- 1'));
  const asked = provider.requests.length;
  assert.equal(asked, 9, 'a complete goal asks for nothing more');
});

step('a reload in mid-round keeps the phase, disarms the goal, and asks the model for nothing', async () => {
  const { opened, open } = gate();
  provider.script({ ...say('Working on the second goal.', { until: opened }), calls: look.calls });
  await editor.write('/goal Write a second test --rounds 5');
  await editor.sees('Working on');
  const asked = provider.requests.length;
  await editor.reload();
  await editor.openSidebar();
  await editor.goal.getByText('active', { exact: true }).waitFor();
  await editor.goal.getByText('disarmed', { exact: true }).waitFor();
  await editor.sees('Write a second test');
  open();
  assert.equal(provider.requests.length, asked);
});

step('resuming arms it, and the next round begins', async () => {
  const { opened, open } = gate();
  provider.script({ ...say('On it again.', { until: opened }), calls: look.calls });
  await editor.goal.getByRole('button', { name: 'Resume' }).click();
  await editor.sees('On it');
  await editor.button('Stop').click();
  await editor.goal.getByText('paused', { exact: true }).first().waitFor();
  open(); // only now: a round that ended by itself would leave nothing to stop
});

step('a window that is closed in mid-goal leaves no server, and the goal is disarmed when it opens again', async () => {
  const { opened, open } = gate();
  provider.script({ ...say('Third time lucky.', { until: opened }), calls: look.calls });
  await editor.goal.getByRole('button', { name: 'Resume' }).click();
  await editor.sees('Third time');
  const servers = editor.servers();
  assert.equal(servers.length, 1);
  await editor.page.context().close();
  const asked = provider.requests.length;
  // The editor keeps a closed window's extensions for a while, in case it comes back; then its server goes.
  await editor.open();
  await editor.openSidebar();
  await until('only one server is left', () => editor.servers(), (pids) => pids.length === 1 && pids[0] !== servers[0]);
  open();
  await editor.goal.getByText('active', { exact: true }).waitFor();
  await editor.goal.getByText('disarmed', { exact: true }).waitFor();
  assert.equal(provider.requests.length, asked);
});

step('clearing asks once more, and forgets the goal', async () => {
  await editor.goal.getByRole('button', { name: 'Clear…' }).click();
  await editor.goal.getByRole('button', { name: 'Clear', exact: true }).click();
  await editor.goal.waitFor({ state: 'hidden' });
});

step('a check reads what the buffer holds, though nothing was saved and no tests were run before', async () => {
  const header = { old_text: 'def total', new_text: '# Sums of carts.\ndef total' };
  provider.script(
    call(['edit_file', { path: 'cart.py', edits: [header] }]),
    (messages) => {
      assert.match(editor.onDisk('cart.py'), /^def total/, 'an edit is the person’s to save until something reads the disk');
      return ask;
    },
    complete,
    say('The cart says what it is.'),
  );
  await editor.write('/goal Say what the cart is --check "grep -q Sums cart.py" --rounds 3');
  await editor.goal.getByText('complete', { exact: true }).first().waitFor();
  await editor.sees('The cart says what it is.');
  assert.match(editor.onDisk('cart.py'), /^# Sums of carts/);
});
