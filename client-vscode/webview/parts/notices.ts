// What stands in the way, and what to do about it: no server, no folder, no model, no trust, reading only. And a word
// after something that the person did.
import type { Action, ViewState } from '../../src/views/messages';
import { button, el, iconButton, show } from '../dom';
import type { Host } from '../host';
import { icon } from '../icons';
import { markdown } from '../markdown';

interface Notice {
  words: string;
  tone: 'quiet' | 'warning' | 'bad';
  buttons: [string, Action][];
}

/** The notices that fit a state; the first matters most. */
export function noticesFor(state: ViewState): Notice[] {
  const { server, hasFolder, isTrusted, model, opening, session } = state;
  if (server.state === 'failed') {
    const buttons: Notice['buttons'] = [
      ['Start again', 'restartServer'],
      ['Show log', 'showLog'],
    ];
    return [{ words: server.problem ?? 'The server failed.', tone: 'bad', buttons }];
  }
  if (server.state === 'starting')
    return [{ words: server.problem ?? 'The server is starting…', tone: 'quiet', buttons: [] }];
  if (server.state === 'stopped') {
    return [{ words: 'The server is not running.', tone: 'warning', buttons: [['Start it', 'restartServer']] }];
  }
  const notices: Notice[] = [];
  if (!hasFolder) {
    const words = 'Open a folder, so that the agent has something to work on.';
    notices.push({ words, tone: 'warning', buttons: [['Open folder', 'openFolder']] });
  }
  if (hasFolder && !isTrusted) {
    const words = 'This folder is not trusted: the agent reads and answers, but edits and runs nothing.';
    notices.push({ words, tone: 'warning', buttons: [['Manage trust', 'trustFolder']] });
  }
  if (model && !model.isConfigured) {
    const words = 'No model is set. Name one, and give its key if it needs one.';
    notices.push({
      words,
      tone: 'warning',
      buttons: [
        ['Choose a model', 'setModel'],
        ['Set the key', 'setKey'],
      ],
    });
  }
  if (opening.kind === 'opening') notices.push({ words: opening.words, tone: 'quiet', buttons: [] });
  if (opening.kind === 'failed') {
    const words = `The session could not be opened: ${opening.words}`;
    notices.push({
      words,
      tone: 'bad',
      buttons: [
        ['Try again', 'openAgain'],
        ['New session', 'newSession'],
      ],
    });
  }
  if (opening.kind === 'readOnly') {
    const repair: Notice['buttons'] = session?.damaged ? [['Cut back and repair', 'repair']] : [];
    const buttons: Notice['buttons'] = [...repair, ['Open again', 'openAgain'], ['New session', 'newSession']];
    notices.push({ words: `Read only. ${opening.words}`, tone: 'warning', buttons });
  }
  return notices;
}

export class Notices {
  readonly element = el('section', { class: 'notices', 'aria-label': 'Notices' });
  private readonly standing = el('div', { role: 'status' });
  private readonly told = el('div', { class: 'told', role: 'status' });
  private drawn = '';

  constructor(private readonly host: Host) {
    this.element.append(this.standing, this.told);
    show(this.told, false);
  }

  update(state: ViewState): void {
    const notices = noticesFor(state);
    const key = JSON.stringify(notices);
    if (key === this.drawn) return;
    this.drawn = key;
    this.standing.replaceChildren(...notices.map((notice) => this.notice(notice)));
  }

  /** A word about what the person did, until it is closed or the next one comes. */
  tell(words: string, isProblem: boolean, isMarkdown: boolean): void {
    const text = isMarkdown
      ? el(
          'div',
          { class: 'markdown' },
          markdown(words, (url) => {
            this.host.post({ type: 'openLink', url });
          }),
        )
      : el('span', {}, words);
    const close = iconButton(icon('close'), 'Close', () => {
      show(this.told, false);
    });
    this.told.className = isProblem ? 'told notice bad' : 'told notice';
    this.told.replaceChildren(text, close);
    show(this.told, true);
  }

  /** Takes back the word about a problem, if one is shown. */
  forgetProblem(): void {
    if (this.told.classList.contains('bad')) show(this.told, false);
  }

  private notice({ words, tone, buttons }: Notice): HTMLElement {
    const acts = buttons.map(([label, action]) =>
      button(label, () => {
        this.host.post({ type: 'act', action });
      }),
    );
    return el(
      'div',
      { class: `notice ${tone}` },
      el('span', {}, words),
      acts.length > 0 && el('div', { class: 'buttons' }, ...acts),
    );
  }
}
