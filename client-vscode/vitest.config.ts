// Tests run in plain Node: `vscode` is the stub beside them, everything else is real.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { alias: { vscode: fileURLToPath(new URL('test/stub/vscode.ts', import.meta.url)) } },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 20_000,
    restoreMocks: true,
    unstubEnvs: true,
  },
});
