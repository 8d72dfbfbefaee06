/*
 * How soon after a copy from the device does a program look at what came?
 *
 * What is looked at at once had better been waited for: closing and opening its pages, and the
 * fault between, cost some 20 us.  So a site (host/site.h) starts with trials: a copy that was
 * waited for has its pages closed all the same, and the first touch tells.  After two late ones in
 * a row its copies come back before the device is done with them, for as long as they are looked
 * at late.  An early one ends that; the next trial comes after twice as many copies each time.
 */
#ifndef HP_DEFER_TOUCH_H
#define HP_DEFER_TOUCH_H

#include <stdbool.h>
#include <stdint.h>

/* Sooner is not worth it: five times what it costs. */
#define TOUCH_LATE_NS  100000u

/* What nobody has touched for so long on trial has come late enough. */
#define TOUCH_TRIAL_NS 1000000u

enum touch_wish {
	TOUCH_WAIT,  /* as ever */
	TOUCH_TRY,   /* wait, and then see how soon it is touched */
	TOUCH_DEFER, /* do not wait */
};

/* Pure.  A history starts as 0. */
enum touch_wish touch_history_wish(uint32_t history);
uint32_t touch_history_waited(uint32_t history); /* with one more copy after TOUCH_WAIT */
uint32_t touch_history_add(uint32_t history, bool late);

/*
 * The same for the next copy into a block of `site`, which counts it; and what came of one.  In a
 * table of fixed size, where a site may take another's place.  Any thread, in signal handlers too.
 */
enum touch_wish touch_next(uint32_t site);
void touch_note(uint32_t site, bool late);

#endif
