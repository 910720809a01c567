import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defined } from '../../../core/defined.ts'
import { threadProgram } from '../../workers/threadProgram.ts'
import { join as joinGang, missText } from './joining.ts'
import type { LinkData } from './linkData.ts'
import { type LinkEvents, Links } from './links.ts'
import type { InMessage } from './messages.ts'
import { publishEnd, publishLoss } from './rendezvous.ts'
import { roomToSend } from './sendBuffers.ts'
import type { GangSettings } from './settings.ts'

let folder = ''
let started: Links[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'distarray-links-'))
  started = []
})
afterEach(async () => {
  for (const links of started) await links.release(0)
  rmSync(folder, { recursive: true, force: true })
})

function settings(rank: number, other: Partial<GangSettings> = {}): GangSettings {
  const rendezvous = { kind: 'file', path: join(folder, 'address') } as const
  const common = { job: 'test', attempt: 0, rendezvous, token: 'a secret of a test', host: '127.0.0.1', joinMs: 20_000, patienceMs: 2500 }
  return { world: 2, rank, ...common, ...other }
}

interface Told {
  readonly messages: { readonly from: number; readonly message: InMessage }[]
  readonly lost: string[]
  readonly released: number[]
}

function listener(): { readonly told: Told; readonly events: LinkEvents } {
  const told: Told = { messages: [], lost: [], released: [] }
  const events: LinkEvents = {
    took: (from, message) => void told.messages.push({ from, message }),
    lost: (error) => void told.lost.push(error.message),
    released: (code) => void told.released.push(code),
  }
  return { told, events }
}

async function start(own: GangSettings, events: LinkEvents, code: string | URL = threadProgram()): Promise<Links> {
  const links = await Links.start(own, code, events)
  started.push(links)
  return links
}

async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 10_000; !isSo() && Date.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 5))
  expect(isSo()).toBe(true)
}

test('messages of any length arrive as they were sent, in both directions, and a release is told', async () => {
  const [driver, node] = [listener(), listener()]
  const [first, second] = await Promise.all([start(settings(0), driver.events), start(settings(1), node.events)])
  const long = new Uint8Array(new SharedArrayBuffer(3 * 2 ** 20 + 17))
  for (let i = 0; i < long.length; i++) long[i] = (i * 7 + (i >> 8)) & 255
  first.hold()
  first.send(1, { type: 'values', head: Buffer.from('head'), parts: [long, new Uint8Array(0), Uint8Array.of(1, 2, 3)] })
  first.send(1, { type: 'run', head: new Uint8Array(0), parts: [] })
  second.send(0, { type: 'done', head: Buffer.from('back'), parts: [] })
  await until(() => node.told.messages.length === 2 && driver.told.messages.length === 1)
  const [{ message: values }, { message: run }] = node.told.messages as [Told['messages'][number], Told['messages'][number]]
  expect(Buffer.from(values.head).toString()).toBe('head')
  expect(values.parts.map(({ length }) => length)).toEqual([long.length, 0, 3])
  expect(Buffer.from(values.parts[0] as Uint8Array).equals(Buffer.from(long))).toBe(true)
  expect([run.type, run.head.length, run.parts.length]).toEqual(['run', 0, 0])
  expect(driver.told.messages.map(({ from, message }) => [from, message.type])).toEqual([[1, 'done']])
  first.letGo()
  await first.release(3)
  await until(() => node.told.released.length === 1)
  expect(node.told).toMatchObject({ released: [3], lost: [] })
})

test('memory of parts that were written, or never will be, is used for parts that are sent later', async () => {
  const [driver, node] = [listener(), listener()]
  const [first, second] = await Promise.all([start(settings(0), driver.events), start(settings(1), node.events)])
  const rooms = (count: number): Uint8Array[] => Array.from({ length: count }, () => roomToSend(300_000))
  const send = (room: Uint8Array, to = 1): void => first.send(to, { type: 'rows', head: new Uint8Array(0), parts: [room] })
  const sent = Array.from({ length: 40 }, (_, i) => {
    const room = roomToSend(300_000).fill(i)
    send(room)
    return room
  })
  await until(() => node.told.messages.length === sent.length)
  const isWhole = ({ message }: Told['messages'][number], i: number): boolean =>
    Buffer.alloc(300_000, i).equals(message.parts[0] as Uint8Array)
  expect(node.told.messages.every(isWhole)).toBe(true)
  expect(() => send(sent[3] as Uint8Array)).toThrow('Memory for one message is part of two.')
  const used = new Set(sent.map(({ buffer }) => buffer))
  const again = new Set(rooms(used.size).map(({ buffer }) => buffer))
  expect(again).toEqual(used)
  expect(rooms(8).some(({ buffer }) => again.has(buffer))).toBe(false) // those are asked for, and not sent
  const came = node.told.messages.map(({ message }) => message.parts[0]?.buffer)
  second.giveBack(node.told.messages.flatMap(({ message }) => message.parts))
  expect(came.map((buffer) => buffer?.byteLength)).toEqual(came.map(() => 0))
  first.part(1)
  const lost = rooms(8)
  for (const [i, room] of lost.entries()) send(room, i < 4 ? 1 : 7) // whom nobody knows
  const found = new Set<ArrayBufferLike>()
  await until(() => {
    for (const { buffer } of rooms(8)) found.add(buffer)
    return lost.every(({ buffer }) => found.has(buffer))
  })
})

test('a process that comes in the place of another just as the program ends hears of the end, whenever it asks', async () => {
  for (const delayMs of [0, 20, 60, 100, 150, 200, 250]) {
    const [driver, node, late] = [listener(), listener(), listener()]
    const [first] = await Promise.all([start(settings(0), driver.events), start(settings(1), node.events)])
    first.part(1)
    void Links.start(settings(1), threadProgram(), late.events).then((links) => started.push(links))
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    await first.release(3)
    publishEnd(join(folder, 'address'), 3) // as who has started them does
    await until(() => late.told.released.length === 1)
    expect(late.told).toMatchObject({ released: [3], lost: [] })
    rmSync(join(folder, 'address'))
  }
})

test('who finds nobody asks until it is told that its time is over', async () => {
  const data = {
    settings: settings(1, { joinMs: 0 }),
    identity: {} as LinkData['identity'],
    released: new Int32Array(1),
    sendCells: new Int32Array(1),
  } // nobody reads them
  const missed: string[] = []
  const joined = joinGang(data, {
    port: 1,
    keyed: () => undefined,
    missed: (error) => void missed.push(String(error)),
    isOver: () => missed.length === 2,
  })
  await expect(joined).rejects.toThrow('Rank 0 has not written where it listens.')
  expect(missed).toHaveLength(2)
})

test('a wrong token is refused, and rank 0 says why it waits in vain', async () => {
  const alone = Links.start(settings(0, { joinMs: 1500 }), threadProgram(), listener().events)
  const stranger = Links.start(settings(1, { token: 'another secret, not ours', joinMs: 1500 }), threadProgram(), listener().events)
  const [first, second] = await Promise.allSettled([alone, stranger])
  expect(second).toMatchObject({
    reason: {
      name: 'GangError',
      fault: 'token',
      message: 'Rank 1 does not have the DA_TOKEN of rank 0. All processes of a gang have the same.',
    },
  })
  expect(first).toMatchObject({
    reason: {
      fault: 'absent',
      message:
        'Rank 1 has not joined within 1.5 s. All processes run the same program. Calls that were refused, for want of the token or as no frames: 1.',
    },
  })
})

test('who has found rank 0 leaves it to rank 0 to say who has not come, however short its own time', async () => {
  const gang = [settings(0, { world: 3, joinMs: 2500 }), settings(1, { world: 3, joinMs: 1500 })]
  const [first, second] = await Promise.allSettled(gang.map((own) => Links.start(own, threadProgram(), listener().events)))
  expect(first).toMatchObject({ reason: { message: 'Rank 2 has not joined within 2.5 s. All processes run the same program.' } })
  expect(second).toMatchObject({ reason: { name: 'GangError', fault: 'lost', rank: 0 } })
  expect(String((second as PromiseRejectedResult).reason.message)).toMatch(/^Rank 0 was lost: /)
})

test('rank 0 does not wait for a process that has ended for good', async () => {
  for (const [code, why] of [
    [1, 'What it printed says why.'],
    [0, 'Its program did not call Session.start().'],
  ] as const) {
    const alone = Links.start(settings(0), threadProgram(), listener().events)
    publishLoss(join(folder, 'address'), 1, code) // as who has started it does
    const [first] = await Promise.allSettled([alone])
    const message = `Rank 1 has ended with status ${code} before it joined. ${why}`
    expect(first).toMatchObject({ reason: { name: 'GangError', fault: 'absent', rank: 1, message } })
  }
  rmSync(join(folder, 'address.lost1'))
})

/** Makes certificates of an authority of its own, as docs/machines.md says; false without openssl. */
function certificates(path: string): boolean {
  mkdirSync(path)
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const commands = [
    ['req', '-x509', ...key, '-days', '365', '-subj', '/CN=gang', '-keyout', 'ca.key', '-out', 'ca.pem'],
    ['req', ...key, '-subj', '/CN=distarray', '-addext', 'subjectAltName=DNS:distarray', '-keyout', 'key.pem', '-out', 'cert.csr'],
    [
      'x509',
      '-req',
      '-in',
      'cert.csr',
      '-CA',
      'ca.pem',
      '-CAkey',
      'ca.key',
      '-CAcreateserial',
      '-days',
      '365',
      '-copy_extensions',
      'copy',
      '-out',
      'cert.pem',
    ],
  ]
  return commands.every((command) => spawnSync('openssl', command, { cwd: path }).status === 0)
}

test('links are encrypted by certificates of one authority; others reach nobody, and hear what was in the way', async (context) => {
  const [ours, others] = [join(folder, 'ours'), join(folder, 'others')]
  if (!certificates(ours) || !certificates(others)) {
    console.log('LEFT OUT: encrypted links, for want of openssl 3')
    context.skip()
  }
  const [driver, node] = [listener(), listener()]
  const [first] = await Promise.all([start(settings(0, { tls: ours }), driver.events), start(settings(1, { tls: ours }), node.events)])
  first.send(1, { type: 'values', head: Buffer.from('head'), parts: [new Uint8Array(new SharedArrayBuffer(2 ** 20))] })
  await until(() => node.told.messages.length === 1)
  await first.release(0)
  await until(() => node.told.released.length === 1)

  const named = ' Links are encrypted where all have DA_TLS, with certificates of one ca.pem, made for the name distarray.'
  const cases: readonly [string | undefined, string | undefined, RegExp][] = [
    [ours, others, new RegExp(` The last call: self.signed certificate.*\\.${named}$`)],
    [undefined, ours, new RegExp(` The last call: SSL routines:.*:wrong version number\\.${named}$`)],
    [ours, undefined, / The last call: the link was closed before it stood\. Where rank 0 has DA_TLS, all have it\.$/],
  ]
  for (const [zero, one, end] of cases) {
    rmSync(join(folder, 'address'), { force: true })
    const gang = [settings(0, { ...defined({ tls: zero }), joinMs: 2500 }), settings(1, { ...defined({ tls: one }), joinMs: 1500 })]
    const [absent, missed] = await Promise.allSettled(gang.map((own) => Links.start(own, threadProgram(), listener().events)))
    expect(absent).toMatchObject({
      reason: { fault: 'absent', message: 'Rank 1 has not joined within 2.5 s. All processes run the same program.' },
    })
    expect(missed).toMatchObject({ reason: { name: 'GangError', fault: 'absent', rank: 0 } })
    expect(String((missed as PromiseRejectedResult).reason.message)).toMatch(/^Rank 0 was not found within 1\.5 s\. Does its program call/)
    expect(String((missed as PromiseRejectedResult).reason.message)).toMatch(end)
  }
}, 30_000)

test('what gRPC says of a call that reached nobody is told, without its numbers and times', () => {
  const told = (last: string, isEncrypted = false): string =>
    missText(new Error(`14 UNAVAILABLE: No connection established. Last error: ${last}. Resolution note: `), isEncrypted)
  expect(told('Error: connect ECONNREFUSED 10.0.0.7:29400')).toBe(' The last call: connect ECONNREFUSED 10.0.0.7:29400.')
  expect(told('Error: connect ECONNREFUSED 10.0.0.7:29400 (2026-01-02T03:04:05.678Z)', true)).toBe(
    ' The last call: connect ECONNREFUSED 10.0.0.7:29400.',
  )
  const encrypted = ' Links are encrypted where all have DA_TLS, with certificates of one ca.pem, made for the name distarray.'
  expect(told('Error: 809C:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/a.c:350:\n', true)).toBe(
    ` The last call: SSL routines:ssl3_get_record:wrong version number.${encrypted}`,
  )
  expect(told('Failed to connect (2026-01-02T03:04:05.678Z)', true)).toBe(
    ` The last call: the link was closed before it stood.${encrypted}`,
  )
  expect(told('null')).toBe(' The last call: the link was closed before it stood. Where rank 0 has DA_TLS, all have it.')
  expect([missText(undefined, true), missText(new Error('4 DEADLINE_EXCEEDED'), true)]).toEqual(['', ''])
})

test('a process with other code is refused, and rank 0 fails with the same words', async () => {
  const first = Links.start(settings(0), 'one program', listener().events)
  const second = Links.start(settings(1), 'another program', listener().events)
  const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)
  const [own, other] = [hash('one program'), hash('another program')]
  const message = `Rank 1 has the code of distarray ${other}, rank 0 has ${own}. Install one version of distarray for all.`
  for (const { reason } of (await Promise.allSettled([first, second])) as PromiseRejectedResult[]) {
    expect(reason).toMatchObject({ name: 'GangError', fault: 'code', rank: 1, message })
  }
})

test('two processes of one rank: the second is refused', async () => {
  const own = { world: 3, joinMs: 2500 }
  const gang = [0, 1, 1].map((rank) => Links.start(settings(rank, own), threadProgram(), listener().events))
  const reasons = (await Promise.allSettled(gang)).map((result) => (result.status === 'rejected' ? String(result.reason.message) : ''))
  expect(reasons[0]).toBe('Two processes say that they are rank 1. Each has a DA_RANK of its own.')
  expect(reasons.slice(1)).toContain('Two processes say that they are rank 1. Each has a DA_RANK of its own.')
})
