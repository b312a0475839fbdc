// What a program wrote, without anything that could steer a terminal: only text, tabs and line ends stay.
import { stripVTControlCharacters } from 'node:util';

/** The longest start of a control sequence that is held back until its end arrives. */
const HELD_CHARACTERS = 4096;
/* eslint-disable no-control-regex -- control characters are what this is about */
/** An escape character, and behind it nothing that ends a sequence: CSI parameters, an open string, or nothing. */
const UNFINISHED = /\u001b(?:\[[0-?]*[ -/]*|[\]PX^_][^\u0007\u001b]*\u001b?|[ -/]+)?$/;
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
/* eslint-enable no-control-regex */

/** A stream's text in pieces, however they are cut. */
export class PlainText {
  private held = '';

  add(text: string): string {
    const whole = this.held + text;
    const start = whole.slice(-HELD_CHARACTERS).search(UNFINISHED);
    const cut = start < 0 ? whole.length : Math.max(0, whole.length - HELD_CHARACTERS) + start;
    this.held = whole.slice(cut);
    return plain(whole.slice(0, cut));
  }

  finish(): string {
    const rest = plain(this.held);
    this.held = '';
    return rest;
  }
}

function plain(text: string): string {
  return stripVTControlCharacters(text).replace(CONTROLS, '');
}

/** A terminal needs the carriage return that programs leave out when they write to a pipe. */
export function forTerminal(text: string): string {
  return text.replace(/\r?\n/g, '\r\n');
}
