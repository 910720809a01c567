import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'

/** Where scripts/steps.ts wants the numbers; a run by hand prints only. */
const report = process.env.VITEST_REPORT

const config: ViteUserConfig = defineConfig({
  // programs of bench/ see the sources
  resolve: { alias: [{ find: /^distarray$/, replacement: fileURLToPath(new URL('src/index.ts', import.meta.url)) }] },
  test: {
    include: ['src/**/*.test.ts', 'property-tests/**/*.prop.ts', 'property-tests/**/*.test.ts'],
    setupFiles: ['property-tests/seed.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // one file a core; vitest's own choice leaves a core out
    maxWorkers: '100%',
    ...(report === undefined ? {} : { reporters: ['default', 'json'], outputFile: { json: report } }),
  },
})

export default config
