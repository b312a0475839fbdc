// A small project with one defect and one red test, and what a model does about it.
import { call } from './provider.mjs';

export const WRONG = 'def total(items):\n    return sum(items) - 1\n';
export const RIGHT = 'def total(items):\n    return sum(items)\n';
export const TEST = 'from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_nothing():\n    assert total([0]) == total([])\n';
export const FILES = { 'cart.py': WRONG, 'test_cart.py': TEST };

export const look = call(['read_file', { path: 'cart.py' }]);
export const test = call(['run_tests', {}]);
export const repair = call(['edit_file', { path: 'cart.py', edits: [{ old_text: 'sum(items) - 1', new_text: 'sum(items)' }] }]);

/** A way to hold something until a test lets it go. */
export function gate() {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { opened, open };
}
