/** Programs that change their process for good, which tests that share one must not. */
import { execFileSync } from 'node:child_process'

/** What an ES module prints that runs in a process of its own; an error with what it said where it fails. */
export function ownProcess(program: string): string {
  const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '-e', program]
  return execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe', env: { ...process.env, NODE_ENV: '' } })
}
