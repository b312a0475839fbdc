// @vitest-environment jsdom
// Where the person writes: what each key does is told beforehand, and no word is lost.
import { beforeEach, describe, expect, it } from 'vitest';
import { Page, FakeHost } from './page';
import { goal, session } from './values';

const RUNNING = session({ state: 'running', turn: 1, step: 1 });

describe('the composer', () => {
  let page: Page;
  const sends = () => page.host.of('send').map(({ how, text }) => [how, text]);
  beforeEach(async () => {
    page = new Page();
    await page.show();
  });

  it('prompts with Enter while the agent is idle', () => {
    page.type('do it');
    expect(page.text('.hint')).toContain('Enter sends');
    expect(page.press('Enter')).toBe(false);
    expect(sends()).toEqual([['prompt', 'do it']]);
  });

  it('steers with Enter and queues with Alt+Enter while it runs, and says so before', async () => {
    await page.show({ session: RUNNING });
    page.type('faster');
    expect(page.text('.hint')).toBe('Enter steers · Alt+Enter queues');
    expect(page.input.placeholder).toContain('Steer');
    page.press('Enter');
    page.host.tell({ type: 'sent', send: 1, problem: undefined });
    page.type('then that');
    page.press('Enter', { altKey: true });
    expect(sends()).toEqual([
      ['steer', 'faster'],
      ['prompt', 'then that'],
    ]);
  });

  it('has buttons for the same, and Stop while it runs', async () => {
    expect(() => page.button('Stop')).toThrow();
    await page.show({ session: RUNNING });
    page.type('faster');
    page.button('Queue').click();
    expect(sends()).toEqual([['prompt', 'faster']]);
    page.button('Stop').click();
    expect(page.host.of('stop')).toHaveLength(1);
    expect(page.button('Steer').disabled).toBe(true);
  });

  it('can stop a goal between two rounds', async () => {
    await page.show({ session: session({ goal: goal() }) });
    expect(page.button('Stop').disabled).toBe(false);
    await page.show({ session: session({ goal: goal({ activation: 'disarmed' }) }) });
    expect(() => page.button('Stop')).toThrow();
  });

  it('makes a new line with Shift+Enter', () => {
    page.type('one');
    expect(page.press('Enter', { shiftKey: true })).toBe(true);
    expect(sends()).toEqual([]);
  });

  it('does not take the Enter that ends the choice of a character', () => {
    page.type('にほん');
    page.press('Enter', { isComposing: true });
    expect(sends()).toEqual([]);
  });

  it.each([
    ['/goal', 'goal'],
    ['/goal Make it', 'goal'],
    ['  /goal pause', 'goal'],
    ['/goals are good', 'prompt'],
    ['the /goal', 'prompt'],
    ['/goa', 'prompt'],
  ])('takes %j for a %s', (text, how) => {
    page.type(text);
    page.press('Escape');
    page.press('Enter');
    expect(page.host.of('send')[0]?.how).toBe(how);
  });

  it('gives a goal command also while the agent runs', async () => {
    await page.show({ session: RUNNING });
    page.type('/goal pause');
    page.press('Enter', { altKey: true });
    expect(sends()).toEqual([['goal', '/goal pause']]);
  });

  it('keeps the words until they are taken, and what is refused, with why', () => {
    page.type('do it');
    page.press('Enter');
    expect(page.input.value).toBe('do it');
    page.press('Enter');
    expect(sends()).toHaveLength(1);
    page.host.tell({ type: 'sent', send: 1, problem: 'No model is set.' });
    expect(page.input.value).toBe('do it');
    expect(page.text('.problem')).toBe('No model is set.');
    page.press('Enter');
    page.host.tell({ type: 'sent', send: 2, problem: undefined });
    expect(page.input.value).toBe('');
    expect(page.text('.problem')).toBe('');
  });

  it('keeps what was written behind words that were taken', () => {
    page.type('do it');
    page.press('Enter');
    page.type('do it and then that');
    page.host.tell({ type: 'sent', send: 1, problem: undefined });
    expect(page.input.value).toBe('and then that');
  });

  it('does not mind an answer to a send that it does not know', () => {
    page.type('do it');
    page.host.tell({ type: 'sent', send: 77, problem: undefined });
    expect(page.input.value).toBe('do it');
  });

  it('sends nothing that is empty, and nothing where nothing can be written', async () => {
    page.type('   ');
    page.press('Enter');
    for (const more of [
      { server: { state: 'failed', problem: 'gone' } },
      { opening: { kind: 'readOnly', words: 'why' } },
      { opening: { kind: 'opening', words: 'wait' } },
    ] as const) {
      await page.show(more);
      page.type('words');
      page.press('Enter');
    }
    expect(sends()).toEqual([]);
    expect(page.input.value).toBe('words');
  });

  it('keeps draft and attachments over a page that is thrown away', () => {
    page.type('half a tho');
    page.attach({ uri: 'file:///w/a%20b.py', kind: 'file' });
    const host = new FakeHost();
    host.draft = page.host.draft;
    const again = new Page(host);
    expect(again.input.value).toBe('half a tho');
    expect(again.text('.field .chip')).toContain('a b.py');
  });

  it('keeps what was attached while a message was under way', () => {
    page.attach({ uri: 'file:///w/a.py', kind: 'file' });
    page.type('look');
    page.press('Enter');
    page.attach({ uri: 'file:///w/b.py', kind: 'file' });
    page.host.tell({ type: 'sent', send: 1, problem: undefined });
    expect(page.text('.field .chip')).toBe('b.py');
  });

  it('promises nothing of its keys while nothing can be sent, and stops nothing without a server', async () => {
    await page.show({ session: RUNNING, server: { state: 'starting', problem: undefined } });
    expect(page.text('.hint')).toBe('');
    expect(() => page.button('Stop')).toThrow();
  });

  it('shows what is attached once, sends it, and lets it be removed', async () => {
    const item = {
      uri: 'file:///w/a.py',
      kind: 'selection',
      text: 'x',
      range: { start: { line: 2, character: 0 }, end: { line: 4, character: 1 } },
    } as const;
    page.attach(item);
    page.attach(item);
    page.attach({ uri: 'file:///w/b.py', kind: 'file' });
    expect(page.all('.field .chip').map(({ textContent }) => textContent)).toEqual(['a.py:3–5', 'b.py']);
    page.button('Remove b.py').click();
    page.type('explain');
    page.press('Enter');
    expect(page.host.of('send')[0]?.context).toEqual([item]);
    page.host.tell({ type: 'sent', send: 1, problem: undefined });
    await page.show();
    expect(page.all('.field .chip')).toEqual([]);
  });

  it('puts what others compose behind what is there', () => {
    page.type('first');
    page.host.tell({ type: 'compose', text: 'second' });
    expect(page.input.value).toBe('first\nsecond');
    expect(document.activeElement).toBe(page.input);
  });
});

describe('the completions', () => {
  let page: Page;
  const labels = () => page.all('.option-label').map(({ textContent }) => textContent);
  beforeEach(() => {
    page = new Page();
  });

  it('offer to set a goal where there is none', async () => {
    await page.show();
    page.type('/');
    expect(labels()).toEqual(['/goal …']);
    page.press('Tab');
    expect(page.input.value).toBe('/goal ');
    expect(page.host.of('send')).toEqual([]);
  });

  it('offer what can be done with a goal, and are walked with the arrows', async () => {
    await page.show({ session: session({ goal: goal() }) });
    page.type('/goal ');
    expect(labels()).toEqual(['edit', 'pause', 'resume', 'clear']);
    expect(page.input.getAttribute('aria-activedescendant')).toBeNull();
    page.press('ArrowDown');
    page.press('ArrowDown');
    const active = page.input.getAttribute('aria-activedescendant') ?? '';
    expect(page.find(`#${active}`).getAttribute('aria-selected')).toBe('true');
    page.press('Enter');
    expect(page.input.value).toBe('/goal pause');
    expect(page.host.of('send')).toEqual([]);
    page.press('Enter');
    expect(page.host.of('send')[0]?.text).toBe('/goal pause');
  });

  it('offer options, not twice, and put the caret between the quotes', async () => {
    await page.show();
    page.type('/goal Make it work --rounds 3 --');
    expect(labels()).not.toContain('--rounds');
    page.type('/goal Make it work --c');
    expect(labels()).toEqual(['--check ""', '--cost']);
    page.press('Enter');
    expect(page.input.value).toBe('/goal Make it work --check ""');
    expect(page.input.selectionStart).toBe(page.input.value.length - 1);
  });

  it('stay away from an objective, and go with Escape', async () => {
    await page.show({ session: session({ goal: goal() }) });
    page.type('/goal fix the tests');
    expect(labels()).toEqual([]);
    page.type('/goal p');
    expect(labels()).toEqual(['pause']);
    page.press('Escape');
    expect(labels()).toEqual([]);
  });

  it('never hold up the Enter of a whole command', async () => {
    await page.show({ session: session({ goal: goal() }) });
    page.type('/goal ');
    page.press('Enter');
    expect(page.host.of('send')[0]).toMatchObject({ how: 'goal', text: '/goal' });
  });
});
