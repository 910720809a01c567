/** The program of the thread of links. */
import { parentPort, workerData } from 'node:worker_threads'
import type { LinkData } from './linkData.ts'
import { runLink } from './linkThread.ts'

if (parentPort !== null) runLink(workerData as LinkData, parentPort) // written by links.ts
