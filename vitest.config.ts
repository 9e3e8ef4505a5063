import { defineConfig } from 'vitest/config';
export default defineConfig({
  resolve: { conditions: ['source', 'module', 'node', 'development|production'] },
  ssr: { resolve: { conditions: ['source', 'module', 'node', 'development|production'] } },
  test: { include: ['{apps,libs,test}/**/*.spec.ts'], setupFiles: ['test/harness/setup.ts'] },
});
