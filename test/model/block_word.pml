/*
 * block_word.pml - the word of a block: which threads may give an address in the block to the
 * driver, and which thread may change the registration of the block.
 *
 * Modeled: copies; copies that pin their block or queue it; the housekeeper's queue of pins and its
 * unpinning; queries; calloc's clearing; changes by the program; copies of two blocks; calls that must
 * see pageable memory, such as captured copies; the end of a context, which may turn out to live on;
 * a user that longjmp() left behind; fork().
 *
 * Abstracted: two blocks and two contexts.  What the driver does in one call is one step.  The budget,
 * the pin rule and an unregistration that the driver refuses are left out.  A registration by the
 * program is an alteration.  Memory is sequentially consistent, as the word's operations are.
 *
 * Proved, for the threads of each line in run.py:
 *
 *	- No registration changes while the driver works with an address in the block, and the driver
 *	  is given no such address during the change.  The exception is a bounded wait that has
 *	  expired: then the users are forgotten (`forced`), and error 719 may follow.
 *	- Even then no thread enters a block whose registration is of pages that were changed.
 *	- A query and a captured copy see pageable memory, unless a bounded wait has expired.
 *	- A context ends after all users of its registrations have left, and no registration is made
 *	  in it or ended in it afterwards.
 *	- Copies of one block, and queries, wait for no word.  No user, and no thread that is alone,
 *	  waits for another word, except a thread that ends a context; that one waits for no block of
 *	  another context.
 *	- All threads end, all words are free then, and no pin that has marked a word is lost.
 */

/* The rules that a run can leave out. */
#define COMPARE_BEFORE_SLEEP 1
#define WAKE_BY_LAST_USER    2
#define WAKE_AT_RELEASE      3
#define TAKEN_KEEPS_OUT      4
#define TRY_WITHOUT_USERS    5
#define HOLDS_AFTER_TAKING   6
#define HOLDS_BEFORE_LOOKING 7
#define END_DRAINS           8
#define END_WAITS_FOR_TAKEN  9
#define END_SKIPS_OTHERS     10
#define MARK                 11
#define RING_AFTER_HANDING   12
#define HANDED_IS_RELEASED   13
#define BELL_BEFORE_LOOKING  14
#define ALTERED_FIRST        15
#define ALTERED_AT_RELEASE   16
#define ALTERING_UNMARKS     17
#define FORGET_BY_GENERATION 18
#define QUERY_AVOIDS_PINNED  19
#define BATCH_GIVES_UP       20
#define PAGEABLE_HOLDS       21
#define GIVE_BACK            22
#define RESET_IN_CHILD       23
#define STOP_LOOKS           24

#include "settings.pml"
#include "word.pml"
#include "word_users.pml"
#include "word_changes.pml"

/* Runs when nothing can happen any more. */
proctype judge()
{
	byte b;

	timeout;
	assert(running == 0);
	assert(holds == ended);
	do
	:: b < blocks ->
		assert((word[b] & TAKEN) == 0);
		assert((word[b] & USERS) == left_behind[b] || forced[b]);
		assert(((word[b] & PINNED) != 0) == registered[b]);
		assert(!wanted[b] || left_behind[b] != 0);
		assert(!ended || !registered[b]);
		b++
	:: else -> break
	od
}

init {
	atomic {
		c_code {
			now.without = setting("WITHOUT");
			now.blocks = setting("BLOCKS");
			now.seconds_pass = setting("SECONDS");
			now.strict = setting("STRICT");
		};
		alive[0] = true;
		alive[1] = true;
		c_code { now.count = setting("PINNED"); };
		do
		:: count > 0 ->
			count--;
			word[count] = PINNED;
			registered[count] = true
		:: else -> break
		od;
		c_code { now.owner[1] = setting("OTHER"); };
		run judge();
		c_code { now.count = setting("KEEPER"); };
		if
		:: count > 0 -> count = 0; run housekeeper()
		:: else
		fi;
		SEVERAL("COPIES", copier(false, false));
		SEVERAL("PINS", copier(true, false));
		SEVERAL("QUEUED", copier(false, true));
		SEVERAL("QUERIES", asker());
		SEVERAL("CLEARS", clearer());
		SEVERAL("CHANGES", changer(false));
		SEVERAL("STOPS", changer(true));
		SEVERAL("BATCHES", batcher());
		SEVERAL("PAGEABLE", pageable());
		SEVERAL("ENDS", ender(0));
		SEVERAL("ENDS_OTHER", ender(1));
		SEVERAL("LEAVERS", leaver(false, true));
		SEVERAL("LEAVERS_ALONE", leaver(true, true));
		SEVERAL("LOST", leaver(false, false));
		SEVERAL("LOST_ALONE", leaver(true, false));
		SEVERAL("FORKS", forker())
	}
}
