/**
 * The joining of a process of a rank above 0, as rank 0 answers it:
 *
 *     hello    a number that was never used, for the proof
 *     join     welcome, or refused: why, or release: the program is over, and with which status
 *
 * Where rank 0 is not there yet, the process asks again, until its time is over.
 */
import { randomBytes } from 'node:crypto'
import { GangError } from '../../../core/errors.ts'
import { isError } from '../../../core/isError.ts'
import { decodeFrame, encodeCall, FrameFault, metaOf } from './frame.ts'
import { isProof, proofOf } from './identity.ts'
import type { FaultText, LinkData } from './linkData.ts'
import { Dialled } from './linkServer.ts'
import { whereabouts } from './nearby.ts'
import { addressOf, lossOf } from './rendezvous.ts'
import type { GangSettings } from './settings.ts'

const CALL_MS = 2000
const RETRY_MS = 50

/** The program has ended before the process could join. */
export interface Over {
  readonly code: number
}

export interface JoinOptions {
  /** The port at which this process listens. */
  readonly port: number
  /** Takes the key of the link to rank 0, which may dial from now on. */
  readonly keyed: (key: string) => void
  readonly isOver: () => boolean
  /** Takes the error of a try that reached nobody, before the next one. */
  readonly missed: (error: unknown) => void
}

/** The error of a process that has not found rank 0 in its time; `missed` is the error of its last call. */
function noDriver({ joinMs, tls }: GangSettings, missed: unknown): GangError {
  const found = `Rank 0 was not found within ${joinMs / 1000} s. Does its program call Session.start()?`
  return new GangError(`${found}${missText(missed, tls !== undefined)}`, 'absent', { rank: 0 })
}

/** The error of rank 0 where processes have not joined in time. */
function notJoined({ world, joinMs }: GangSettings, { isThere, strangers }: Known): GangError {
  const missing = Array.from({ length: world - 1 }, (_, i) => i + 1).filter((rank) => !isThere(rank))
  const which = missing.length === 1 ? `Rank ${missing[0]} has` : `Ranks ${missing.join(', ')} have`
  const refused = strangers() === 0 ? '' : ` Calls that were refused, for want of the token or as no frames: ${strangers()}.`
  return new GangError(`${which} not joined within ${joinMs / 1000} s. All processes run the same program.${refused}`, 'absent')
}

/** The time between two looks for processes that have ended before they joined. */
const LOOK_MS = 100

/** What is known of processes that have not joined: of which it is one, how many calls were refused, and the error of the last call. */
interface Known {
  isThere(rank: number): boolean
  strangers(): number
  missed(): unknown
}

/** Calls `fail` when the time to join is over, or on rank 0 when another process has ended before it joined, until `clearInterval`. */
export function awaitOthers(settings: GangSettings, known: Known, fail: (error: GangError) => void): NodeJS.Timeout {
  const until = Date.now() + settings.joinMs
  const others = settings.rank === 0 ? Array.from({ length: settings.world - 1 }, (_, i) => i + 1) : []
  return setInterval(() => {
    if (Date.now() >= until) return fail(settings.rank > 0 ? noDriver(settings, known.missed()) : notJoined(settings, known))
    for (const rank of others) {
      const code = known.isThere(rank) ? undefined : lossOf(settings.rendezvous, rank)
      if (code !== undefined) return fail(endedBefore(rank, code))
    }
  }, LOOK_MS)
}

function endedBefore(rank: number, code: number): GangError {
  const why = code === 0 ? 'Its program did not call Session.start().' : 'What it printed says why.'
  return new GangError(`Rank ${rank} has ended with status ${code} before it joined. ${why}`, 'absent', { rank })
}

/** Returns what is known of tries that reached nobody, with what helps where links differ in their encryption; empty where it is nothing. */
export function missText(error: unknown, isEncrypted: boolean): string {
  const said = /Last error: (?:Error: )?(.*?)(?: \(\d{4}-.*?\))?\.? Resolution note/s.exec(isError(error) ? error.message : '')?.[1]
  if (said === undefined) return ''
  const isClosed = said === 'null' || said === 'Failed to connect'
  const why = isClosed ? 'the link was closed before it stood' : said.replace(/^[\dA-F]+:error:[\dA-F]+:|:\.\..*/gs, '').trim()
  const isOfLinks = isClosed || /SSL|certificate/.test(why)
  const cure = isEncrypted
    ? ' Links are encrypted where all have DA_TLS, with certificates of one ca.pem, made for the name distarray.'
    : ' Where rank 0 has DA_TLS, all have it.'
  return ` The last call: ${why}.${isOfLinks ? cure : ''}`
}

/** Joins the gang; resolves with the way to rank 0. */
export async function join({ settings, identity }: LinkData, { port, keyed, isOver, missed }: JoinOptions): Promise<Dialled | Over> {
  const { rank, token, host } = settings
  const until = Date.now() + settings.joinMs
  for (;;) {
    const address = addressOf(settings.rendezvous)
    try {
      if (address === undefined) throw new Error('Rank 0 has not written where it listens.')
      if ('code' in address) return address
      const driver = new Dialled(settings, address.host, address.port)
      const challenge = decodeFrame(await driver.call(encodeCall('hello', rank, 0, {}), CALL_MS))
      const { number } = metaOf(challenge)
      if (challenge.type !== 'challenge' || typeof number !== 'string') throw new FrameFault('Rank 0 gave no number.')
      const own = randomBytes(16).toString('hex')
      const proof = proofOf(token, ['join', rank, number, own])
      keyed(proofOf(token, ['key', number, own]))
      const answer = decodeFrame(
        await driver.call(encodeCall('join', rank, 0, { number, own, proof, identity, host, port, ...whereabouts() }), settings.joinMs),
      )
      const meta = metaOf(answer)
      if (answer.type === 'refused' && meta.later === true && Date.now() < until) throw new Error('Who was lost is not known to be.')
      if (answer.type === 'refused') throw new GangError(String(meta.message), meta.fault as FaultText['fault'], { rank }) // of refusal()
      const code = Number(meta.code ?? 0)
      if (answer.type === 'release' && isProof(meta.proof, token, ['release', rank, number, own, code])) return { code }
      if (answer.type !== 'welcome' || !isProof(meta.proof, token, ['welcome', rank, number, own]))
        throw new GangError('Who answers as rank 0 does not have the DA_TOKEN of this process.', 'token', { rank: 0 })
      return driver
    } catch (error) {
      // that the time to join is over is for `awaitOthers` to say, which has the words for it
      if (error instanceof GangError || error instanceof FrameFault || isOver()) throw error
      missed(error)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}
