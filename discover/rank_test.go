package discover

import (
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// What users' servers have, in the words of their makers, shortened.
const manyTools = `hub__create_issue: Create a new issue in a repository
hub__list_issues: List issues in a repository with filtering options
hub__get_issue: Get details of a specific issue
hub__add_issue_comment: Add a comment to an existing issue
hub__create_pull_request: Create a new pull request
hub__merge_pull_request: Merge a pull request
hub__get_pull_request_files: Get the list of files changed in a pull request
hub__search_code: Search for code across repositories
hub__search_repositories: Search for repositories
hub__create_branch: Create a new branch
hub__fork_repository: Fork a repository to your account or organization
hub__push_files: Push multiple files in a single commit
chat__post_message: Post a message to a channel
chat__reply_to_thread: Reply to a specific message thread
chat__list_channels: List public channels in the workspace
chat__get_users: Get a list of all users in the workspace
chat__add_reaction: Add a reaction emoji to a message
db__query: Run a read-only SQL query
db__execute: Run a SQL statement that changes data
db__describe_table: Show the columns of a table
db__list_tables: List all tables in the database
files__read_text_file: Read the complete contents of a file as text
files__move_file: Move or rename files and directories
files__directory_tree: Get a recursive tree view of files and directories as JSON
files__get_file_info: Retrieve detailed metadata about a file or directory
mail__send: Send an e-mail to one or more recipients
mail__search: Find e-mails in the mailbox
calendar__create_event: Create an event with a date and attendees
calendar__find_free_time: Find a time at which all attendees are free
browser__navigate: Navigate to a URL
browser__screenshot: Take a screenshot of the current page
browser__click: Click an element on the page
pay__create_invoice: Create an invoice for a customer
pay__refund_charge: Refund a charge that has previously been created
pay__list_customers: List customers
deploy__rollback: Roll a deployment back to an earlier version
deploy__logs: Show the logs of a deployment
weather__forecast: Weather forecast for a place
maps__directions: Directions between two places
cal_dav__delete_event: Delete an event`

// Of what a model may ask, in its own words, the right tool is among the five that are found.
func TestRankRecall(t *testing.T) {
	var all []tool.Declaration
	for line := range strings.SplitSeq(manyTools, "\n") {
		name, about, _ := strings.Cut(line, ": ")
		all = append(all, tool.Declaration{Name: name, Description: about, Origin: "mcp:x"})
	}
	found, first := 0, 0
	queries := map[string]string{
		"open a new issue":              "hub__create_issue",
		"comment on an issue":           "hub__add_issue_comment",
		"issues of a repository":        "hub__list_issues",
		"merge pull request":            "hub__merge_pull_request",
		"files changed in a PR":         "hub__get_pull_request_files",
		"search code":                   "hub__search_code",
		"fork a repo":                   "hub__fork_repository",
		"send message to chat channel":  "chat__post_message",
		"emoji reaction":                "chat__add_reaction",
		"who are the users":             "chat__get_users",
		"sql query":                     "db__query",
		"columns of a table":            "db__describe_table",
		"rename a file":                 "files__move_file",
		"file metadata":                 "files__get_file_info",
		"send an e-mail":                "mail__send",
		"schedule a meeting event":      "calendar__create_event",
		"when is everybody free":        "calendar__find_free_time",
		"take screenshot":               "browser__screenshot",
		"open url in browser":           "browser__navigate",
		"invoice customer":              "pay__create_invoice",
		"refund":                        "pay__refund_charge",
		"roll back deployment":          "deploy__rollback",
		"deployment logs":               "deploy__logs",
		"weather":                       "weather__forecast",
		"how to get from A to B places": "maps__directions",
		"+event delete":                 "cal_dav__delete_event",
		"select:db__query, mail__send":  "mail__send",
	}
	for query, want := range queries {
		best := Rank(query, all, 5)
		at := slices.IndexFunc(best, func(d tool.Declaration) bool { return d.Name == want })
		if at >= 0 {
			found++
		} else {
			t.Logf("%q does not find %s", query, want)
		}
		if at == 0 {
			first++
		}
	}
	t.Logf("%d of %d among the five best, %d the best", found, len(queries), first)
	if found < len(queries)*9/10 {
		t.Error("less than nine of ten are found")
	}
}
