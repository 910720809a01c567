/**
 * `distarray run [--processes N] -- command`: runs a program on several processes. `distarray schema FILE`: prints the type of its rows.
 *
 * With `--processes` they are started here. Without, this is one of the processes that an engine (Slurm, torchrun, …) has started,
 * and passes the engine's settings on to the program.
 */
import { engineOf } from './exec/gang/links/engines.ts'
import { settingsOf } from './exec/gang/links/settings.ts'
import { launch, launchOne } from './session/launch.ts'
import { SCHEMA_USAGE, schemaCommand } from './session/schemaCommand.ts'

const USAGE = `distarray run [--processes N] -- command
${SCHEMA_USAGE}

  distarray run --processes 3 -- node train.js    three processes on this machine
  srun -n 3 distarray run -- node train.js        one of the processes that Slurm has started; also torchrun,
                                                  Open MPI, Kubernetes, or DA_RANK and DA_WORLD

The same command runs everywhere. The program runs in the process of rank 0; the others stay at Session.start()
and run parts of its loops.`

const MOST_LOCAL = 64

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code
})

async function main(args: readonly string[]): Promise<number> {
  if (args[0] === 'schema' && !args.some(isHelp)) return await schemaCommand(args.slice(1))
  const asked = parsed(args)
  if (typeof asked === 'string') {
    const isUsage = asked === USAGE
    ;(isUsage ? process.stdout : process.stderr).write(`${asked}\n`)
    return isUsage ? 0 : 2
  }
  if (asked.processes !== undefined) return await launch(asked.command, asked.processes)
  try {
    const engine = engineOf(process.env)
    if (engine === undefined) return await launchOne(asked.command, {})
    settingsOf(engine.variables) // throws for wrong settings before the program runs
    return await launchOne(asked.command, engine.variables)
  } catch (error) {
    process.stderr.write(`${String(error)}\n`)
    return 2
  }
}

function isHelp(option: string): boolean {
  return option === '--help' || option === '-h'
}

/** The command and options of the arguments, or the text to print: the usage, or an error. */
function parsed(args: readonly string[]): { readonly command: readonly string[]; readonly processes?: number } | string {
  const [verb, ...rest] = args
  if (verb === undefined || verb === 'help' || verb === 'schema' || isHelp(verb)) return USAGE
  if (verb !== 'run')
    return `distarray has no command ${verb}. It has run, as distarray run --processes 3 -- node train.js, and schema, as distarray schema ratings.parquet.`
  const dashes = rest.indexOf('--')
  const options = rest.slice(0, dashes < 0 ? rest.length : dashes)
  const command = dashes < 0 ? [] : rest.slice(dashes + 1)
  if (options.some(isHelp)) return USAGE
  if (command.length === 0) return 'The program to run stands behind two dashes: distarray run --processes 3 -- node train.js'
  const [name, value, ...more] = options.flatMap((option) => (option.startsWith('--processes=') ? option.split('=') : [option]))
  if (name === undefined) return { command }
  const processes = Number(value)
  if (name !== '--processes' || more.length > 0) return `distarray run has one option, --processes N; it was given ${options.join(' ')}.`
  if (!Number.isInteger(processes) || processes < 1 || processes > MOST_LOCAL)
    return `--processes is ${value ?? 'missing'}. It is a whole number from 1 to ${MOST_LOCAL}.`
  return { command, processes }
}
