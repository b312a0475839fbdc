// `steersman/tests/run`: a test run in a task's terminal and in the Test Explorer, and an honest receipt of it.
// It writes nothing into the workspace, and never rejects for what the tests do.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { anyOf } from '../common/cancellation';
import type { ProcessSpec } from '../common/childProcess';
import { childEnvironment } from '../common/environment';
import { interpreterOf, virtualEnvironmentOf } from '../common/interpreter';
import { runInTerminal } from '../common/taskTerminal';
import type { TestReceipt, TestsProgress, TestsRequest } from '../lsp/protocol';
import { Coalesced } from './coalesced';
import { TestExplorer, type ShownRun } from './explorer';
import { readCases } from './junit';
import { receiptOf, refused } from './receipt';
import { suggestedCommand } from './suites';
import { isPytest, resolved, selected, withResults } from './testCommand';

/** What a receipt keeps of the output: receipts are events, and are shown to the model. */
const OUTPUT_BYTES = 16 * 1024;
const NO_COMMAND =
  'No test command: nothing in this folder says how its tests are run. ' +
  'Set `steersman.tests.command`, for instance ["python", "-m", "pytest"].';

export class TestRunner implements vscode.Disposable {
  private readonly explorer = new TestExplorer();

  /** `tell` sends the output on while a run goes on, so that one that is broken off leaves a trace. */
  constructor(private readonly tell: (progress: TestsProgress) => void) {}

  async run(request: TestsRequest, token: vscode.CancellationToken): Promise<TestReceipt> {
    const folder = vscode.Uri.parse(request.folder);
    if (!vscode.workspace.isTrusted) return refused(request, 'This workspace is not trusted: nothing is run in it.');
    if (folder.scheme !== 'file') return refused(request, `The folder ${request.folder} is not on this machine.`);
    const command = request.argv?.length ? request.argv : await suggestedCommand(folder.fsPath);
    if (!command) return refused(request, NO_COMMAND);
    const interpreter = await interpreterOf(folder);
    const argv = selected(resolved(command, interpreter), request.selection);
    const shown = this.explorer.begin(titleOf(request));
    let receipt: TestReceipt | undefined;
    try {
      receipt = await this.runShown(request, folder, argv, interpreter, shown, token);
    } catch (error) {
      receipt = refused(request, `The editor could not run the tests: ${String(error)}`);
    }
    shown.end(receipt);
    return receipt;
  }

  dispose(): void {
    this.explorer.dispose();
  }

  private async runShown(
    request: TestsRequest,
    folder: vscode.Uri,
    argv: string[],
    interpreter: string | undefined,
    shown: ShownRun,
    token: vscode.CancellationToken,
  ): Promise<TestReceipt> {
    const aside = await mkdtemp(path.join(tmpdir(), 'steersman-tests-'));
    const results = path.join(aside, 'results.xml');
    const progress = new Coalesced((output) => {
      this.tell({ runId: request.runId, output });
    });
    const stop = anyOf(token, shown.token);
    const environment = await virtualEnvironmentOf(interpreter);
    try {
      const process: ProcessSpec = {
        argv: isPytest(argv) ? withResults(argv, results, path.join(aside, 'cache')) : argv,
        cwd: folder.fsPath,
        env: childEnvironment(globalThis.process.env, environment, { PYTHONDONTWRITEBYTECODE: '1' }),
        timeoutMs: request.timeoutSeconds * 1000,
        stopWith: 'SIGINT', // pytest writes the results that it has
        outputLimit: OUTPUT_BYTES,
      };
      const onOutput = (text: string) => {
        shown.output(text);
        progress.add(text);
      };
      const name = titleOf(request);
      const place = vscode.workspace.getWorkspaceFolder(folder);
      const outcome = await runInTerminal({ name, runId: request.runId, folder: place, process, onOutput }, stop.token);
      const partial = outcome.ended === 'timeout' || outcome.ended === 'cancelled';
      return receiptOf(request, outcome, argv, await readCases(results, folder.fsPath, partial));
    } finally {
      stop.dispose();
      progress.stop();
      await rm(aside, { recursive: true, force: true }).catch(() => undefined);
    }
  }
}

function titleOf({ reason }: TestsRequest): string {
  return { tool: 'Tests', check: 'Tests (check)', baseline: 'Tests (baseline)' }[reason];
}
