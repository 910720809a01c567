/**
 * Makes `npx distarray` run the sources in a clone, as it runs the package where that is installed: npm links the commands of
 * what a project depends on, but not its own. Run by `npm install` in a clone, never where the package is installed.
 */
import { mkdirSync, writeFileSync } from 'node:fs'

const bin = new URL('../node_modules/.bin/', import.meta.url)
mkdirSync(bin, { recursive: true })
const script = '#!/bin/sh\nroot=$(cd "$(dirname "$0")/../.." && pwd)\nexec "$root/node_modules/.bin/tsx" "$root/src/cli.ts" "$@"\n'
writeFileSync(new URL('distarray', bin), script, { mode: 0o755 })
