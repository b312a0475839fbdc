// The Test Explorer's picture of what the agent ran. It shows; it starts nothing.
import * as vscode from 'vscode';
import type { TestCase, TestReceipt } from '../lsp/protocol';
import { forTerminal } from '../common/plainText';

/** Characters of output that the explorer keeps of one run; the task's terminal has all of it. */
const OUTPUT_CHARACTERS = 256 * 1024;
const WHOLE_RUN = 'run';

export class TestExplorer implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController('steersman', 'Steersman');

  /** A run that has begun. */
  begin(name: string): ShownRun {
    return new ShownRun(this.controller, name);
  }

  dispose(): void {
    this.controller.dispose();
  }
}

export class ShownRun {
  private readonly run: vscode.TestRun;
  private room = OUTPUT_CHARACTERS;

  constructor(
    private readonly controller: vscode.TestController,
    name: string,
  ) {
    this.run = controller.createTestRun(new vscode.TestRunRequest(), name);
  }

  /** Cancelled when the person presses stop in the explorer. */
  get token(): vscode.CancellationToken {
    return this.run.token;
  }

  output(text: string): void {
    if (this.room <= 0) return;
    this.run.appendOutput(forTerminal(text.slice(0, this.room)));
    this.room -= text.length;
    if (this.room <= 0) this.run.appendOutput("\r\n… the rest is in the task's terminal …\r\n");
  }

  end(receipt: TestReceipt): void {
    for (const testCase of receipt.tests) this.show(testCase, receipt.folder);
    const failed = receipt.tests.some(({ outcome }) => outcome === 'failed' || outcome === 'error');
    if (!failed && receipt.status !== 'passed' && receipt.status !== 'cancelled') this.showWhole(receipt);
    else if (receipt.status === 'passed') this.controller.items.delete(`${receipt.folder} ${WHOLE_RUN}`);
    this.run.end();
  }

  private show(testCase: TestCase, folder: string): void {
    const item = this.itemOf(testCase, folder);
    this.run.started(item);
    switch (testCase.outcome) {
      case 'passed':
        this.run.passed(item, testCase.durationMs);
        break;
      case 'skipped':
        this.run.skipped(item);
        break;
      case 'failed':
        this.run.failed(item, messageOf(testCase, item), testCase.durationMs);
        break;
      case 'error':
        this.run.errored(item, messageOf(testCase, item), testCase.durationMs);
        break;
    }
  }

  /** A run without a failing test that still did not pass: its own line says why. */
  private showWhole(receipt: TestReceipt): void {
    const item = this.controller.createTestItem(`${receipt.folder} ${WHOLE_RUN}`, 'The test run itself');
    this.controller.items.add(item);
    this.run.started(item);
    this.run.errored(item, new vscode.TestMessage(receipt.output), receipt.durationMs);
  }

  /** Tests stand under their file, or under their class where no file is told. */
  private itemOf(testCase: TestCase, folder: string): vscode.TestItem {
    const cut = testCase.id.indexOf('::');
    const place = cut < 0 ? 'tests' : testCase.id.slice(0, cut);
    const uri = testCase.uri === undefined ? undefined : vscode.Uri.parse(testCase.uri);
    const parent = child(this.controller, this.controller.items, `${folder} ${place}`, place, uri);
    const label = cut < 0 ? testCase.id : testCase.id.slice(cut + 2);
    const item = child(this.controller, parent.children, `${folder} ${testCase.id}`, label, uri);
    if (testCase.line !== undefined) item.range = new vscode.Range(testCase.line - 1, 0, testCase.line - 1, 0);
    return item;
  }
}

function child(
  controller: vscode.TestController,
  items: vscode.TestItemCollection,
  id: string,
  label: string,
  uri: vscode.Uri | undefined,
): vscode.TestItem {
  const known = items.get(id);
  if (known && known.uri?.toString() === uri?.toString()) return known;
  const made = controller.createTestItem(id, label, uri);
  items.add(made);
  return made;
}

function messageOf(testCase: TestCase, item: vscode.TestItem): vscode.TestMessage {
  const message = new vscode.TestMessage(testCase.message ?? 'The runner gave no reason.');
  if (item.uri && item.range) message.location = new vscode.Location(item.uri, item.range);
  return message;
}
